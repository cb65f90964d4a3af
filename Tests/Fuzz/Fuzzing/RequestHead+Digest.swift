public import HTTPProtocol

extension RequestHead {
  /// Everything that a head can tell, in one text; none of it may trap.
  public var digest: String {
    var text = "\(method) \(version) \(framing) \(keepAlive) "
    text += "\(expectsContinue) \(host) \(authority) "
    text += "\(value(.accept) ?? "") \(isWebSocketUpgrade)"
    forEachField { name, value in text += "\(name.count):\(value.count) " }
    text += PercentEncoding.decodeText(path) ?? "malformed"
    if let query { text += "\(URLEncodedForm(query)?.pairs.count ?? -1)" }
    let now = HTTPDate(1_700_000_000)
    let outcome = Preconditions.evaluate(
      self, Validators(entityTag: EntityTag("a"), lastModified: HTTPDate(1_600_000_000)), now: now)
    text += "\(outcome) \(AcceptList(self, .accept).quality(of: "application/json") ?? -1) "
    text += "\(AcceptList(self, .acceptEncoding).quality(ofCoding: "gzip"))"
    if let date = first(.ifModifiedSince).flatMap({ HTTPDate($0, now: now) }) {
      precondition(HTTPDate(Array(date.text.utf8)[...], now: now) == date)
    }
    _ = WebSocketHandshake.check(self)
    return text
  }
}
