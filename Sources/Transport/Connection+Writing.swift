internal import CUV
internal import Glibc
package import Formats

// Writing: in order, as fast as the socket takes it.
extension Connection {
  /// The number of bytes that wait to be taken by the socket.
  package var backlog: Int { staged.count + queuedBytes + (tls?.output.count ?? 0) + unsent }

  /// The number of bytes that libuv holds.
  var unsent: Int { inFlight.isEmpty ? 0 : unsafe uv_stream_get_write_queue_size(stream) }

  /// Appends bytes to the output that is written at the end of this turn.
  ///
  /// - Parameter body: appends; it is not called once the connection is no longer open.
  package func stage(_ body: (inout [UInt8]) -> Void) {
    guard life == .open else { return }
    if staged.capacity == 0 { staged = loop.stagingBuffers.acquire() }
    body(&staged)
    awaitFlush()
  }

  func awaitFlush() {
    guard !isAwaitingFlush else { return }
    isAwaitingFlush = true
    loop.needsFlush(self)
  }

  /// Writes shared bytes behind the staged output, without a copy.
  ///
  /// - Parameter bytes: the bytes.
  package func write(_ bytes: Bytes) {
    guard life == .open else { return }
    if let tls { return write(bytes, through: tls) }
    guard queue.isEmpty, inFlight.isEmpty else {
      queueStaged(from: 0)
      append(bytes, from: 0)
      return
    }
    let head = staged.count
    let result = unsafe staged.withUnsafeBytes { staged in
      if let place = bytes.place {
        unsafe trySend(staged, then: place, bytes.count)
      } else {
        unsafe tryWrite(staged, bytes.buffer)
      }
    }
    guard let written = accept(result) else { return }
    queueStaged(from: min(written, head))
    if written < head + bytes.count { append(bytes, from: max(0, written - head)) }
    writeQueue()
  }

  /// Writes what this turn staged, rather than at its end.
  package func flush() {
    isAwaitingFlush = false
    defer {
      returnStagingBuffer()
      if !inFlight.isEmpty, life == .open { protocolHandler?.outputWaits() }
    }
    if let tls { return flush(through: tls) }
    guard !staged.isEmpty, life == .open || life == .finishing else { return finishIfWritten() }
    // While a write is under way small pieces gather here: a queue entry for each would cost far more than its bytes.
    guard inFlight.isEmpty else { return }
    let result = unsafe staged.withUnsafeBytes { staged in unsafe tryWrite(staged) }
    guard let written = accept(result) else { return }
    queueStaged(from: written)
    writeQueue()
    // The socket took all at once, so that libuv calls nothing back.
    if life == .open, inFlight.isEmpty { protocolHandler?.drained() }
    finishIfWritten()
  }

  private func returnStagingBuffer() {
    guard staged.isEmpty, staged.capacity > 0, !isAwaitingFlush else { return }
    // Out of the property first: a shared buffer would be allocated anew to be emptied.
    loop.stagingBuffers.release(exchange(&staged, with: []))
  }

  /// Offers bytes to the socket.
  ///
  /// - Returns: the number of bytes that it took, or the system's error, negative.
  func tryWrite(_ bytes: UnsafeRawBufferPointer, flags: Int = 0) -> Int {
    let sent = unsafe Glibc.send(
      descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL | flags))
    if sent >= 0 { return sent }
    return errno == EINTR ? 0 : -Int(errno)
  }

  /// Offers bytes, and others behind them, to the socket.
  ///
  /// - Returns: as ``tryWrite(_:flags:)``.
  private func tryWrite(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Int {
    unsafe withUnsafeTemporaryAllocation(of: uv_buf_t.self, capacity: 2) { buffers in
      unsafe buffers[0] = Connection.buffer(first)
      unsafe buffers[1] = Connection.buffer(second)
      return unsafe Int(uv_try_write(stream, buffers.baseAddress, 2))
    }
  }

  /// Offers bytes, and bytes of a file behind them, to the socket.
  ///
  /// - Returns: as ``tryWrite(_:flags:)``.
  private func trySend(
    _ first: UnsafeRawBufferPointer, then place: (descriptor: Int32, offset: Int), _ count: Int
  ) -> Int {
    let sent = unsafe first.isEmpty ? 0 : unsafe tryWrite(first, flags: MSG_MORE)
    guard sent == first.count else { return sent }
    // What the socket doesn't take now is written from the memory of the file.
    var offset = place.offset
    return sent + max(0, unsafe sendfile(descriptor, place.descriptor, &offset, count))
  }

  /// Takes the result of a write: a full socket took nothing, a broken one takes nothing more.
  ///
  /// - Returns: the number of bytes that the socket took, or nil if it is broken.
  func accept(_ result: Int) -> Int? {
    if result == -Int(EAGAIN) { return 0 }
    guard result >= 0 else {
      writingFailed()
      return nil
    }
    loop.statistics.bytesSent.bump(result)
    given += result
    return result
  }

  private static func buffer(_ bytes: UnsafeRawBufferPointer) -> uv_buf_t {
    let base = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
    return unsafe uv_buf_t(base: base?.assumingMemoryBound(to: CChar.self), len: bytes.count)
  }

  func queueStaged(from offset: Int) {
    if offset < staged.count { append(Bytes(staged[offset...]), from: 0) }
    staged.removeAll(keepingCapacity: true)
  }

  func append(_ bytes: Bytes, from offset: Int) {
    if queue.isEmpty, inFlight.isEmpty { beginWindow() }
    enqueue(bytes, from: offset)
  }

  func enqueue(_ bytes: Bytes, from offset: Int) {
    queue.append((bytes, offset))
    queuedBytes += bytes.count - offset
  }

  /// Gives the queue to libuv, which waits until the socket takes it.
  private func writeQueue() {
    guard inFlight.isEmpty, !queue.isEmpty else { return }
    queuedBytes = 0
    send(exchange(&queue, with: []))
  }

  /// Gives bytes to libuv, which has none.
  func send(_ chunks: [(bytes: Bytes, offset: Int)]) {
    inFlight = chunks
    given += chunks.reduce(0) { $0 + $1.bytes.count - $1.offset }
    let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    unsafe request.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    let failed: Int32 = unsafe withUnsafeTemporaryAllocation(
      of: uv_buf_t.self, capacity: inFlight.count
    ) { buffers in
      for (index, chunk) in inFlight.enumerated() {
        unsafe buffers[index] = Connection.buffer(
          UnsafeRawBufferPointer(rebasing: chunk.bytes.buffer[chunk.offset...]))
      }
      return unsafe uv_write(request, stream, buffers.baseAddress, UInt32(inFlight.count)) {
        request, status in
        guard let request = unsafe request else { return }
        let connection = unsafe Connection.of(request.pointee.data)
        unsafe request.deallocate()
        connection.didWrite(status)
        connection.loop.endTurn()
      }
    }
    if failed != 0 {
      unsafe request.deallocate()
      inFlight = []
      writingFailed()
    }
  }

  private func didWrite(_ status: Int32) {
    let sent = inFlight.reduce(0) { $0 + $1.bytes.count - $1.offset }
    inFlight = []
    guard status == 0 else { return writingFailed() }
    loop.statistics.bytesSent.bump(sent)
    if let tls {
      flush(through: tls, isAfterWrite: true)
      return returnStagingBuffer()
    }
    queueStaged(from: 0)
    returnStagingBuffer()
    writeQueue()
    guard inFlight.isEmpty else { return }
    queue = []
    if life == .open { protocolHandler?.drained() }
    finishIfWritten()
  }
}
