/// Why the signatures of a document do not hold.
public struct SignatureError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// There is no signature.
    case unsigned
    /// Signatures where none may be, too many of them, or not built as they must.
    case structure
    /// A reference or transform that does not simply cover the whole document.
    case reference
    /// An algorithm that is not accepted.
    case algorithm
    /// No usable key in KeyInfo.
    case key
    /// The certificates in KeyInfo do not go with the key.
    case certificate
    /// What is signed was changed afterwards.
    case changed
    /// The signature value was not made by the key.
    case forged
    /// The libraries failed.
    case internalFailure
  }

  /// The kind of reason.
  public let code: Code
  /// The reason in words.
  public let message: String
  /// Which signature, from 1 in document order, where it is one.
  public internal(set) var signature: Int?

  init(_ code: Code, _ message: String, signature: Int? = nil) {
    self.code = code
    self.message = message
    self.signature = signature
  }
}

extension SignatureError: CustomStringConvertible {
  /// The reason in words, with the number of the signature.
  public var description: String { signature.map { "signature \($0): \(message)" } ?? message }
}
