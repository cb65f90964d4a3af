/// The result of a request, as two bytes on the wire: in version 1 about a file (page "Files"), in version 2 any.
///
/// It is not an enum, because a later version may have more, and the service ignores what a device
/// sends.
public struct ErrorCode: Error, RawRepresentable, Hashable, Sendable {
  /// The number on the wire.
  public let rawValue: UInt16

  /// Makes a code of any number.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The request was done.
  public static let done = ErrorCode(rawValue: 0)
  /// The user may not do that.
  public static let notPermitted = ErrorCode(rawValue: 1)
  /// There is no such file, user or forum.
  public static let notFound = ErrorCode(rawValue: 2)
  /// Another session holds a lock on the file.
  public static let locked = ErrorCode(rawValue: 3)
  /// No file can have this name.
  public static let badFilename = ErrorCode(rawValue: 4)
  /// The file is too large, or a quota is used up.
  public static let overQuota = ErrorCode(rawValue: 5)
  /// The data is not boxed between the user and the service.
  public static let dataDoesNotOpen = ErrorCode(rawValue: 6)
  /// A reserved file can't have this content.
  public static let badContent = ErrorCode(rawValue: 7)
  /// The service failed; nothing was changed.
  public static let internalError = ErrorCode(rawValue: 8)
  /// A signature or a proof of possession is wrong (version 2).
  public static let wrongProof = ErrorCode(rawValue: 9)
  /// The key is somebody else's (version 2).
  public static let keyTaken = ErrorCode(rawValue: 10)
  /// There is no such type, or not at this stage (version 2).
  public static let noSuchType = ErrorCode(rawValue: 11)
  /// A field can't have its value (version 2).
  public static let badField = ErrorCode(rawValue: 12)
}

extension ErrorCode: CustomStringConvertible {
  /// The meaning in words, as the data of a reply has it.
  public var description: String {
    switch self {
    case .done: "done"
    case .notPermitted: "not permitted"
    case .notFound: "no such file, user or forum"
    case .locked: "locked by another session"
    case .badFilename: "bad filename"
    case .overQuota: "too large, or over quota"
    case .dataDoesNotOpen: "data does not open"
    case .badContent: "bad content for a reserved file"
    case .internalError: "internal error; nothing was changed"
    case .wrongProof: "wrong signature or proof of possession"
    case .keyTaken: "the key is taken"
    case .noSuchType: "no such type, or not at this stage"
    case .badField: "bad field"
    default: "error \(rawValue)"
    }
  }
}
