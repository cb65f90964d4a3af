internal import Wire

// TLS: bytes are sealed on their way to the socket.
//
// The queue holds what is not sealed yet: a large response to a slow reader is sealed piece by piece as it reads, so that
// it takes no more memory than without TLS.
extension Connection {
  /// The number of bytes that are sealed before the socket is asked to take them: whole records that fit into a loop's
  /// buffer.
  private static let sealedLimit = 48 << 10

  /// Takes sealed bytes from the socket.
  func receive(_ bytes: UnsafeRawBufferPointer, through tls: TLSEndpoint) {
    unsafe tls.withInput(bytes) {
      guard tls.isEstablished || shakeHands(tls) else { return }
      while isReceiving {
        let room = unsafe loop.openedBuffer
        switch unsafe tls.read(into: room) {
        case .bytes(let count):
          let opened = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
          unsafe protocolHandler?.received(RawSpan(_unsafeBytes: opened))
        case .needsInput: return
        case .ended:
          protocolHandler?.peerEnded()
          return
        case .failed: fail(.protocolViolated)
        }
      }
    }
    // Alerts and key updates that the peer provokes without reading them.
    if tls.output.count > Connection.sealedLimit, !inFlight.isEmpty { reset() }
  }

  /// Carries the handshake on.
  ///
  /// - Returns: whether it is complete, and the connection still open.
  @discardableResult
  func shakeHands(_ tls: TLSEndpoint) -> Bool {
    switch tls.handshake() {
    case .established:
      loop.statistics.tlsHandshakes.bump()
      protocolHandler?.secured()
      return life == .open
    case .needsInput: return false
    case .failed(let failure):
      fail(failure)
      return false
    }
  }

  private func fail(_ failure: TLSFailure) {
    loop.statistics.tlsFailures.bump()
    protocolHandler?.tlsFailed(failure)
    finish()
  }

  func write(_ bytes: Bytes, through tls: TLSEndpoint) {
    queueStaged(from: 0)
    append(bytes, from: 0)
    sendSealed(tls)
  }

  /// Seals and sends what was staged, or what has gathered while a write was under way.
  ///
  /// - Parameter isAfterWrite: whether a write has just been completed.
  func flush(through tls: TLSEndpoint, isAfterWrite: Bool = false) {
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
  func sendSealed(_ tls: TLSEndpoint) {
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
  private func seal(_ tls: TLSEndpoint) -> Bool {
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

  private func giveBackSealed(_ tls: TLSEndpoint) {
    guard tls.output.isEmpty, tls.output.capacity > 0 else { return }
    loop.giveBack(exchange(&tls.output, with: []))
  }
}
