internal import CMemory

/// Gives memory back to the system.
public enum MemoryBlocks {
  /// Has each block of at least a number of bytes mapped by itself, and unmapped when it is freed. glibc would keep such blocks
  /// once it has seen some freed: hundreds of MiB after large requests.
  public static func map(from size: CInt) { map_large_blocks(size) }
}
