package import CResources

internal import CMemory
internal import Glibc
internal import Synchronization

/// A file in memory, without a name, for large bytes that sockets send without a copy (`sendfile(2)`).
///
/// It is mapped once as a whole, and takes memory only for the pages that are written. No place in it is used twice.
package final class MemoryFile: Sendable {
  /// The only file of the program, or nil if the system allows none.
  package static let shared = MemoryFile()

  /// The size in bytes: of the address space, not of memory.
  private static let size = 1 << 36

  /// The descriptor.
  package let descriptor: CInt
  /// The address of the mapping, which nothing writes through.
  private let address: UInt
  private let pageSize = max(4096, Int(getpagesize()))
  private let end = Atomic<Int>(0)

  private init?() {
    // A file beyond the limit would end the program.
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
      limit.rlim_cur >= UInt(Self.size)
    else { return nil }
    descriptor = unsafe memory_file("awd-bytes")
    guard descriptor >= 0 else { return nil }
    guard ftruncate(descriptor, Self.size) == 0,
      let memory = unsafe mmap(
        nil, Self.size, PROT_READ, MAP_SHARED | MAP_NORESERVE, descriptor, 0),
      unsafe memory != MAP_FAILED
    else {
      close(descriptor)
      return nil
    }
    // A dump after a crash would be as large as the mapping.
    unsafe madvise(memory, Self.size, MADV_DONTDUMP)
    address = UInt(bitPattern: memory)
  }

  /// Copies bytes into the file.
  ///
  /// - Returns: their offset, or nil if there is no room.
  package func append(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let offset = end.add(room(for: bytes.count), ordering: .relaxed).oldValue
    guard offset + bytes.count <= Self.size else { return nil }
    var written = 0
    while written < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, offset + written)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else {
        remove(offset, bytes.count)
        return nil
      }
      written += count
    }
    return offset
  }

  /// Returns the memory of bytes in the file.
  package func buffer(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: start(offset), count: count)
  }

  /// Returns the memory of bytes to the system, except pages that a socket has still to send.
  package func remove(_ offset: Int, _ count: Int) {
    unsafe madvise(start(offset), room(for: count), MADV_REMOVE)
  }

  private func start(_ offset: Int) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(offset))
  }

  /// The size of the pages that some bytes need.
  private func room(for count: Int) -> Int { (count + pageSize - 1) / pageSize * pageSize }
}

/// Returns memory to the system.
package enum MemoryBlocks {
  /// Has each block of at least a number of bytes mapped by itself, and unmapped when it is freed. glibc would keep such blocks
  /// once it has seen some freed: hundreds of MiB after large requests.
  package static func map(from size: CInt) { map_large_blocks(size) }
}

/// A file that is built into the program.
package struct Resource: Sendable {
  /// The file's content.
  package let bytes: [UInt8]

  /// Copies a file out of the program.
  package init(_ resource: awd_resource) {
    bytes = unsafe Array(UnsafeBufferPointer(start: resource.bytes, count: resource.count))
  }

  /// The file's content as UTF-8.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}
