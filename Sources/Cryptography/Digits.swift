extension Sequence<UInt8> {
  /// Returns the digits of a big-endian number in a base, the highest first; none for zero.
  package func digits(base: Int) -> [Int] {
    var digits: [Int] = []
    for byte in self {
      var carry = Int(byte)
      for place in digits.indices {
        carry += digits[place] << 8
        digits[place] = carry % base
        carry /= base
      }
      while carry > 0 {
        digits.append(carry % base)
        carry /= base
      }
    }
    return digits.reversed()
  }

  /// The decimal digits of a big-endian number.
  package var decimalNumber: String {
    let digits = digits(base: 10)
    return digits.isEmpty ? "0" : digits.map(String.init).joined()
  }
}
