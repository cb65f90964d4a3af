/// What tells one state of a resource from another (RFC 9110 section 8.8).
public struct Validators: Sendable {
  /// The tag of the representation that would be sent.
  public let entityTag: EntityTag?
  /// When it was modified.
  public let lastModified: HTTPDate?
  /// That moment as clients were told it, and as they tell it back.
  let lastModifiedText: [UInt8]

  /// Validators.
  ///
  /// - Parameters:
  ///   - entityTag: the tag of the representation that would be sent, or nil.
  ///   - lastModified: when it was modified, or nil if that is not known.
  public init(entityTag: EntityTag?, lastModified: HTTPDate?) {
    self.entityTag = entityTag
    self.lastModified = lastModified
    lastModifiedText = lastModified.map { Array($0.text.utf8) } ?? []
  }
}
