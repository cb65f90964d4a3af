/// The message stream of a ``Device``.
public struct DeviceEntries: AsyncSequence, AsyncIteratorProtocol, Sendable {
  /// The element of the sequence: an entry of the stream.
  public typealias Element = StreamEntry
  /// The sequence ends without an error, which ``Device/run()`` throws.
  public typealias Failure = Never

  let device: Device

  /// Returns the sequence, which is its own iterator. The iterators of one device share the entries.
  public func makeAsyncIterator() -> DeviceEntries { self }

  /// Takes the next entry.
  ///
  /// - Parameter actor: the actor on which the call runs.
  /// - Returns: the entry, or nil when the device has stopped or the task is cancelled.
  public func next(isolation actor: isolated (any Actor)? = #isolation) async -> StreamEntry? {
    await device.nextEntry()
  }
}
