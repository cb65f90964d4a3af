internal import Formats

// TLS: bytes are sealed on their way to the socket.
//
// The queue holds what is not sealed yet: a large response to a slow reader is sealed piece by piece as it reads, so that
// it takes no more memory than without TLS.
extension Connection {
  /// The number of bytes in a full record.
  private static let recordSize = 16 << 10
  /// The number of sealed bytes above which no further record is sealed before the socket is asked to take them.
  private static let sealedLimit = 49 << 10

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
    if tls.output.count > Connection.sealedLimit, !inFlight.isEmpty { abort() }
  }

  /// Carries the handshake on.
  ///
  /// - Returns: whether it is complete, and the connection still open.
  @discardableResult
  func shakeHands(_ tls: TLSEndpoint) -> Bool {
    acquireSealingBuffer(tls)
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
    let waited = !queue.isEmpty || !inFlight.isEmpty
    var taken = 0
    if !waited, !staged.isEmpty {
      // The first bytes fill the record that the staged ones begin, such as a head.
      let room = Connection.recordSize - staged.count % Connection.recordSize
      taken = min(bytes.count, room)
      unsafe staged.append(contentsOf: bytes.buffer[..<taken])
      guard sealStaged(tls) else { return close() }
    } else {
      queueStaged(from: 0)
    }
    if taken < bytes.count { enqueue(bytes, from: taken) }
    sendSealed(tls)
    // Most often the socket takes all, and nobody need ask the kernel what the peer has acknowledged.
    if !waited, !inFlight.isEmpty { beginWindow() }
  }

  private func sealStaged(_ tls: TLSEndpoint) -> Bool {
    acquireSealingBuffer(tls)
    let isSealed = unsafe staged.withUnsafeBytes { unsafe tls.write($0) }
    staged.removeAll(keepingCapacity: true)
    return isSealed
  }

  /// Seals and sends what was staged, or what has gathered while a write was under way.
  ///
  /// - Parameter isAfterWrite: whether a write has just been completed.
  func flush(through tls: TLSEndpoint, isAfterWrite: Bool = false) {
    guard life == .open || life == .finishing, inFlight.isEmpty else { return finishIfWritten() }
    let hadOutput = isAfterWrite || !staged.isEmpty || !queue.isEmpty || !tls.output.isEmpty
    if queue.isEmpty, !staged.isEmpty {
      guard sealStaged(tls) else { return close() }
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
    defer { returnSealingBuffer(tls) }
    while seal(tls), !tls.output.isEmpty {
      let result = unsafe tls.output.withUnsafeBytes { unsafe tryWrite($0) }
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
    while case let records = (Connection.sealedLimit - tls.output.count) / Connection.recordSize,
      records > 0, let (bytes, offset) = queue.first
    {
      acquireSealingBuffer(tls)
      let room = records * Connection.recordSize
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

  private func acquireSealingBuffer(_ tls: TLSEndpoint) {
    if tls.output.capacity == 0 { tls.output = loop.sealingBuffers.acquire() }
  }

  private func returnSealingBuffer(_ tls: TLSEndpoint) {
    guard tls.output.isEmpty, tls.output.capacity > 0 else { return }
    loop.sealingBuffers.release(exchange(&tls.output, with: []))
  }
}
