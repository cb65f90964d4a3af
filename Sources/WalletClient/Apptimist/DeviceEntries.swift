/// The message stream of a ``Device``.
public struct DeviceEntries: AsyncSequence, Sendable {
  /// What it consists of.
  public typealias Element = StreamEntry
  /// It ends without an error; ``Device/run()`` has it.
  public typealias Failure = Never

  let device: Device

  /// An iterator; those of one device share the entries.
  public func makeAsyncIterator() -> Iterator { Iterator(device: device) }

  /// Takes entries one by one.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let device: Device

    /// Takes the next entry.
    ///
    /// - Parameter actor: whose executor is kept.
    /// - Returns: nil when the device has stopped, or the task is cancelled.
    public func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> StreamEntry? {
      await device.nextEntry()
    }
  }
}
