internal import CSodium

/// Compares two secrets in a time that does not depend on where they differ.
///
/// The lengths are no secret: different ones are told apart at once.
public func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  return unsafe left.isEmpty || sodium_memcmp(left, right, left.count) == 0
}
