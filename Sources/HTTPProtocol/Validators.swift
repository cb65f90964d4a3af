/// The validators that tell one state of a resource from another (RFC 9110 section 8.8).
public struct Validators: Sendable {
  /// The tag of the representation that would be sent.
  public let entityTag: EntityTag?
  /// The moment of the last modification.
  public let lastModified: HTTPDate?
  /// The moment of the last modification as clients are told it, and as they send it back.
  let lastModifiedText: [UInt8]

  /// Validators.
  ///
  /// - Parameters:
  ///   - entityTag: the tag of the representation that would be sent, or nil.
  ///   - lastModified: the moment of the last modification, or nil if it is not known.
  public init(entityTag: EntityTag?, lastModified: HTTPDate?) {
    (self.entityTag, self.lastModified) = (entityTag, lastModified)
    lastModifiedText = lastModified.map { Array($0.text.utf8) } ?? []
  }
}
