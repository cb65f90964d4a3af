/// The reason why the signatures of a document do not hold.
public struct SignatureError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// There is no signature.
    case unsigned
    /// Misplaced, malformed or too many signatures.
    case structure
    /// A reference or transform other than one of the whole document.
    case reference
    /// An algorithm that is not accepted.
    case algorithm
    /// No usable key in KeyInfo.
    case key
    /// The certificates in KeyInfo do not fit the key.
    case certificate
    /// The signed content was changed afterwards.
    case changed
    /// The signature value was not made by the key.
    case forged
    /// A library failed.
    case internalFailure
  }

  /// The kind of reason.
  public let code: Code
  /// The reason in words.
  public let message: String
  /// The number of the signature, from 1 in document order, or nil if the reason concerns none.
  public internal(set) var signature: Int?

  init(_ code: Code, _ message: String, signature: Int? = nil) {
    (self.code, self.message, self.signature) = (code, message, signature)
  }
}

extension SignatureError: CustomStringConvertible {
  /// The reason in words, with the number of the signature.
  public var description: String { signature.map { "signature \($0): \(message)" } ?? message }
}
