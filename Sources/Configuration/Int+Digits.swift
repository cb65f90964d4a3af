extension Int {
  /// The number written in decimal digits alone, without a sign; nil for anything else.
  init?(digits text: some StringProtocol) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.utf8.allSatisfy(digits.contains) else { return nil }
    self.init(text)
  }
}
