internal import TokenScriptReading

/// The verdict on a file for wallets that ask by JSON; they look at the first origin only.
enum ValidationReport {
  /// The verdict on a file for one contract.
  enum Status: String {
    /// The signer is trusted.
    case pass
    /// The signature holds, and its signer may be anybody.
    case warn
    /// The file isn't signed for the contract.
    case fail
  }

  /// Makes the verdict on a file for a contract.
  static func origin(
    name: String, _ signer: TokenScriptFile.Signer?, _ verdict: (status: Status, text: String)
  ) -> JSONObject {
    [
      "name": name, "type": signer?.kind ?? "", "status": verdict.status.rawValue,
      "statusText": verdict.text, "signingKey": signer?.key ?? "",
    ]
  }

  /// Makes a report.
  ///
  /// - Parameters:
  ///   - origins: the verdicts, the one that was asked for first.
  ///   - signature: the verdict on the signature alone.
  static func json(_ origins: [JSONObject], signature: Status = .pass) -> JSONObject {
    ["overview": ["originStatuses": origins] as JSONObject, "signatureStatus": signature.rawValue]
  }

  /// Makes the report of a file that isn't signed for the contract.
  ///
  /// - Parameters:
  ///   - failure: the reason.
  ///   - signer: the signer, or nil unless the signature holds.
  static func json(failure: String, signer: TokenScriptFile.Signer? = nil) -> JSONObject {
    json([origin(name: "", signer, (.fail, failure))], signature: signer == nil ? .fail : .pass)
  }
}
