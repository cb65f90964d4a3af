internal import CSodium

/// Overwrites a secret with zeros, which no optimizer leaves out, and empties the array.
///
/// Other arrays that share the memory keep their bytes, so there must be none.
public func wipe(_ bytes: inout [UInt8]) {
  unsafe bytes.withUnsafeMutableBytes { unsafe sodium_memzero($0.baseAddress, $0.count) }
  bytes = []
}
