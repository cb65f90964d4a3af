internal import XMLSecurity

/// A check of documents against the schemas of their versions.
protocol SchemaCheck: Sendable {
  /// Checks a document.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that it was read from.
  /// - Returns: whether the schema allows the document.
  func finding(
    for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
  ) -> TokenScriptFile.Finding
}

extension SchemaValidator: SchemaCheck {
  /// Checks a document in this process, however long it takes.
  func finding(
    for document: XMLDocument, of bytes: [UInt8], _ version: SchemaVersion
  ) -> TokenScriptFile.Finding {
    switch validate(document, version: version.path) {
    case .valid: .passed
    case .noSchema: .missingSchema(version)
    case .invalid(let problems):
      .invalid(problems.prefix(5).map { "\($0)" }.joined(separator: "; "))
    }
  }
}

extension TokenScriptFile.Finding {
  /// The finding without a schema of the version.
  static func missingSchema(_ version: SchemaVersion) -> Self {
    .failed(FileRefusal(reason: "there is no schema for its namespace", detail: version.path))
  }

  /// The finding for a document that the schema doesn't allow.
  static func invalid(_ problems: String) -> Self {
    .failed(FileRefusal(reason: "the schema does not allow it", detail: problems))
  }
}
