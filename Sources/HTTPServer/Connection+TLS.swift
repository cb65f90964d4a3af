internal import HTTPProtocol

/// A connection whose bytes are sealed on their way to the socket.
///
/// The queue holds what is not sealed yet: a large answer to a slow reader is sealed piece by piece as it reads, so that
/// it takes no more memory than without TLS.
extension Connection {
  /// How many bytes are sealed before the socket is asked to take them: whole records that fit into a loop's buffer.
  private static let sealedLimit = 48 << 10

  /// Takes sealed bytes from the socket.
  func receive(_ bytes: UnsafeRawBufferPointer, through tls: TLSSession) {
    unsafe tls.withInput(bytes) {
      guard tls.isEstablished || establish(tls) else { return }
      while life == .open {
        let room = unsafe loop.openedBuffer
        switch unsafe tls.read(into: room) {
        case .bytes(let count):
          let opened = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
          unsafe protocolHandler?.received(RawSpan(_unsafeBytes: opened))
        case .needsInput: return
        case .ended:
          protocolHandler?.peerEnded()
          return
        case .failed:
          loop.statistics.tlsFailures.bump()
          finish()
        }
      }
    }
    // Alerts and key updates that the peer provokes without reading them.
    if tls.output.count > Connection.sealedLimit, !inFlight.isEmpty { reset() }
  }

  /// Carries the handshake on.
  ///
  /// - Returns: whether it is complete.
  private func establish(_ tls: TLSSession) -> Bool {
    switch tls.handshake() {
    case .established:
      loop.statistics.tlsHandshakes.bump()
      if !tls.isHTTP2 {
        become(HTTP1Connection(self))
      } else if let http2 = HTTP2Connection(self) {
        become(http2)
      } else {
        close()
      }
      return life == .open
    case .needsInput: return false
    case .plainRequest:
      // It goes out as it is: nothing of this session is sealed any more.
      let text = "The plain HTTP request was sent to the HTTPS port.\n"
      let answer = Response(.badRequest, type: "text/plain", text: text)
      answer.serializeHead(
        into: &tls.output, date: loop.dateLine, keepAlive: false, version10: false,
        headOnly: false)
      tls.output += text.utf8
      fallthrough
    case .failed:
      loop.statistics.tlsFailures.bump()
      finish()
      return false
    }
  }

  func write(_ bytes: Bytes, through tls: TLSSession) {
    queueStaged(from: 0)
    append(bytes, from: 0)
    sendSealed(tls)
  }

  /// Seals and sends what was staged, or what has gathered while a write was under way.
  ///
  /// - Parameter isAfterWrite: whether a write has just been completed.
  func flush(through tls: TLSSession, isAfterWrite: Bool = false) {
    guard life == .open || life == .finishing, inFlight.isEmpty else { return finishIfWritten() }
    let hadOutput = isAfterWrite || !staged.isEmpty || !queue.isEmpty || !tls.output.isEmpty
    if queue.isEmpty, !staged.isEmpty {
      let isSealed = unsafe staged.withUnsafeBytes { unsafe tls.write($0) }
      guard isSealed else { return close() }
      staged.removeAll(keepingCapacity: true)
    } else {
      queueStaged(from: 0)
    }
    sendSealed(tls)
    guard inFlight.isEmpty else { return }
    if queue.isEmpty { queue = [] }
    if hadOutput, life == .open { protocolHandler?.drained() }
    finishIfWritten()
  }

  /// Seals the queue piece by piece and sends it until the socket takes no more.
  func sendSealed(_ tls: TLSSession) {
    guard inFlight.isEmpty else { return }
    defer { giveBackSealed(tls) }
    while seal(tls), !tls.output.isEmpty {
      let result = unsafe tls.output.withUnsafeBytes { unsafe tryWrite($0, nil) }
      guard let written = accept(result) else { return }
      if written < tls.output.count {
        if queue.isEmpty { beginWindow() }
        let rest = Bytes(tls.output[written...])
        tls.output.removeAll(keepingCapacity: true)
        return send([(rest, 0)])
      }
      tls.output.removeAll(keepingCapacity: true)
    }
  }

  /// Seals as much of the queue as is sent at a time.
  ///
  /// - Returns: whether the connection goes on.
  private func seal(_ tls: TLSSession) -> Bool {
    while case let room = Connection.sealedLimit - tls.output.count, room > 0,
      let (bytes, offset) = queue.first
    {
      if tls.output.capacity == 0 { tls.output = loop.takeBuffer() }
      let end = min(bytes.count, offset + room)
      guard unsafe tls.write(UnsafeRawBufferPointer(rebasing: bytes.buffer[offset..<end])) else {
        close()
        return false
      }
      queuedBytes -= end - offset
      if end < bytes.count { queue[0].offset = end } else { queue.removeFirst() }
    }
    return true
  }

  private func giveBackSealed(_ tls: TLSSession) {
    guard tls.output.isEmpty, tls.output.capacity > 0 else { return }
    var buffer: [UInt8] = []
    swap(&buffer, &tls.output)
    loop.giveBack(consume buffer)
  }
}
