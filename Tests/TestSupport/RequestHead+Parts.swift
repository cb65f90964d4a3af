package import HTTPProtocol

extension RequestHead {
  /// A head of these parts, as HTTP/2 brings them.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path and, after `?`, the query.
  ///   - authority: host and port.
  ///   - fields: names and values.
  /// - Throws: the failure that a server has for the same fault; 431 above 65,535 bytes in all.
  package init(
    method: Method, path: String, authority: String, fields: [(name: String, value: String)] = []
  ) throws(RequestFailure) {
    var limits = RequestParser.Limits()
    limits.head = .max
    limits.target = .max
    limits.fieldLine = .max
    limits.fieldCount = .max
    var collector = RequestHeadCollector(limits: limits)
    let parts = [(":method", method.name), (":path", path), (":authority", authority)]
    for (name, value) in parts + fields {
      let (name, value) = (Array(name.utf8), Array(value.utf8))
      collector.add(name: name.span.bytes, value: value.span.bytes)
    }
    self = try collector.finish(hasBody: false)
  }
}
