internal import CMemory

/// Gives memory back to the system.
package enum MemoryBlocks {
  /// Has each block of at least a number of bytes mapped by itself, and unmapped when it is freed. glibc would keep such blocks
  /// once it has seen some freed: hundreds of MiB after large requests.
  package static func map(from size: CInt) { map_large_blocks(size) }
}
