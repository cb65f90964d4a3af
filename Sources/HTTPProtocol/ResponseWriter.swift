extension Response {
  /// Appends the head of the response as HTTP/1.1 sends it (RFC 9112 section 4).
  ///
  /// Beside the handler's fields it has `Date`, `Connection` where it says something, and
  /// `Content-Length`: none with 1xx, 204 and 304, and none for `HEAD` if the handler left the
  /// body out, since the length that `GET` would have is not known then.
  ///
  /// - Parameters:
  ///   - output: the bytes to append to; grows once if it must.
  ///   - date: a prepared line as ``HTTPDate/fieldLine`` gives it, or empty for none.
  ///   - keepAlive: whether the connection stays open after the response.
  ///   - version10: whether the request was HTTP/1.0, whose clients must be told of an open connection.
  ///   - headOnly: whether the request was `HEAD`.
  public func serializeHead(
    into output: inout [UInt8], date: [UInt8], keepAlive: Bool, version10: Bool, headOnly: Bool
  ) {
    output.append(contentsOf: status.line)
    output.append(contentsOf: date)
    output.append(contentsOf: fields.bytes)
    if status.namesUpgrade {
      output.append(keepAlive ? "Connection: Upgrade\r\n" : "Connection: close, Upgrade\r\n")
    } else if !keepAlive {
      output.append("Connection: close\r\n")
    } else if version10 {
      output.append("Connection: keep-alive\r\n")
    }
    if case .pieces = body {
      // HTTP/1.0 knows the end of such a body by that of the connection (RFC 9112 section 6.3).
      if !version10 { output.append("Transfer-Encoding: chunked\r\n") }
    } else if !status.forbidsBody, !headOnly || body.count > 0 {
      output.append("Content-Length: ")
      output.append(decimal: body.count)
      output.append("\r\n")
    }
    output.append("\r\n")
  }

  /// The interim response that asks for the body (RFC 9110 section 15.2.1).
  public static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
}

extension Status {
  /// The status line (RFC 9112 section 4), CR LF included.
  fileprivate var line: [UInt8] { Self.lines[Int(code) - 100] }

  private static let lines = (UInt16(100)...599).map { code in
    Array("HTTP/1.1 \(code) \(Status(code).reason)\r\n".utf8)
  }

  /// True if the response has `Upgrade`, which `Connection` must name (RFC 9110 section 7.8).
  fileprivate var namesUpgrade: Bool { self == .switchingProtocols || self == .upgradeRequired }
}
