internal import Platform

/// Immutable bytes at an address that stays, shared by reference, so that sockets are written from them without a copy.
@safe public final class Bytes: @unchecked Sendable {
  // Safe to share: nothing writes to the memory after `init`, and it lives as long as the object.
  private let storage: UnsafeRawBufferPointer
  /// The file that the bytes lie in, and their offset there; nil if they are memory of this object alone.
  public let place: (descriptor: CInt, offset: Int)?

  /// Copies bytes.
  ///
  /// - Parameter source: any contiguous or other collection; an empty one is fine.
  public convenience init(_ source: some Collection<UInt8>) {
    unsafe self.init(capacity: source.count) { memory in
      unsafe memory.copyBytes(from: source)
      return memory.count
    }
  }

  /// Makes bytes in place, so that they need not be copied.
  ///
  /// - Parameters:
  ///   - capacity: the largest number of bytes.
  ///   - fill: writes the first bytes of the memory, and returns their number.
  /// - Throws: the closure's error.
  public init<Failure>(
    capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(capacity, 1), alignment: 16)
    do throws(Failure) {
      count = try unsafe fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<capacity]))
    } catch {
      unsafe memory.deallocate()
      throw error
    }
    unsafe storage = UnsafeRawBufferPointer(memory)
    place = nil
  }

  private init(in file: MemoryFile, at offset: Int, count: Int) {
    unsafe storage = file.buffer(offset, count)
    place = (file.descriptor, offset)
    self.count = count
  }

  /// Returns the bytes where sockets can send them from without a copy, for bytes that are sent often.
  ///
  /// - Returns: other bytes with a ``place``, or these if they are so few that it doesn't pay, or if the system has no room.
  public func placedForSending() -> Bytes {
    guard count >= Bytes.placingLimit, let file = MemoryFile.shared,
      let offset = unsafe file.append(buffer)
    else { return self }
    return Bytes(in: file, at: offset, count: count)
  }

  /// The length at which a copy costs more than another system call.
  private static let placingLimit = 16 << 10

  deinit {
    if let place {
      MemoryFile.shared?.remove(place.offset, count)
    } else {
      unsafe storage.deallocate()
    }
  }

  /// The number of bytes.
  public let count: Int

  /// The memory itself; valid as long as this object is retained.
  public var buffer: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: storage.baseAddress, count: count)
  }

  /// A copy as an array.
  public var array: [UInt8] { unsafe Array(buffer) }
}

extension UInt8 {
  /// True if the byte is a letter or a digit of ASCII.
  package var isLetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
