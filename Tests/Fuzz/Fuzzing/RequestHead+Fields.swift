public import HTTPProtocol

extension RequestHead {
  /// A head with fields of any bytes, or nil if a server refuses it.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path.
  ///   - fields: names and values.
  public init?(
    method: Method, path: String, fields: [(name: [UInt8], value: [UInt8])]
  ) {
    var collector = RequestHeadCollector(limits: RequestParser.Limits())
    let parts = [(":method", method.name), (":path", path), (":authority", "h")]
    for (name, value) in parts.map({ (Array($0.utf8), Array($1.utf8)) }) + fields {
      collector.add(name: name.span.bytes, value: value.span.bytes)
    }
    guard let head = try? collector.finish(hasBody: false) else { return nil }
    self = head
  }
}
