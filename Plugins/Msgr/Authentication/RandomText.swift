/// Random letters and digits, each as likely as the others.
enum RandomText {
  static let lowercase = "0123456789abcdefghijklmnopqrstuvwxyz"
  static let letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

  /// Makes a text.
  ///
  /// - Parameters:
  ///   - alphabet: the characters, in ASCII.
  ///   - randomBytes: gives random bytes.
  static func make(
    _ count: Int, of alphabet: String = letters, randomBytes: (Int) -> [UInt8]
  ) -> String {
    let characters = Array(alphabet.utf8)
    // Higher bytes would favour the first characters.
    let limit = 256 - 256 % characters.count
    var text: [UInt8] = []
    while text.count < count {
      for byte in randomBytes(2 * count) where text.count < count && Int(byte) < limit {
        text.append(characters[Int(byte) % characters.count])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
