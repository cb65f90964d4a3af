/// Conditional requests (RFC 9110 section 13).
public enum Preconditions {
  /// The outcome of a request's conditions.
  public enum Outcome: Sendable, Equatable {
    /// The request is served as if it had no conditions.
    case proceed
    /// 304: the client's copy is good.
    case notModified
    /// 412: the client asked for a state that this is not.
    case failed
  }

  /// Evaluates the conditions of a request in the order of RFC 9110 section 13.2.2.
  ///
  /// This is meant for responses with 200; nothing is allocated. `If-Modified-Since` counts
  /// for `GET` and `HEAD` alone. A date that is none, lies in the future, or comes twice counts as absent.
  ///
  /// - Parameters:
  ///   - head: the request.
  ///   - validators: those of the representation that would be sent.
  ///   - now: the present.
  /// - Returns: the outcome.
  public static func evaluate(
    _ head: RequestHead, _ validators: Validators, now: HTTPDate
  ) -> Outcome {
    let reads = head.method == .get || head.method == .head
    let lastModified = validators.lastModified
    if let matches = listed(.ifMatch, in: head, validators.entityTag, isStrong: true) {
      guard matches else { return .failed }
    } else if let lastModified,
      let date = date(.ifUnmodifiedSince, in: head, validators, now: now), lastModified > date
    {
      return .failed
    }
    if let matches = listed(.ifNoneMatch, in: head, validators.entityTag, isStrong: false) {
      return matches ? reads ? .notModified : .failed : .proceed
    }
    guard reads, let lastModified,
      let date = date(.ifModifiedSince, in: head, validators, now: now), date <= now,
      lastModified <= date
    else { return .proceed }
    return .notModified
  }

  /// Returns whether the fields of a name list a tag; nil without such a field.
  private static func listed(
    _ name: FieldName, in head: RequestHead, _ etag: EntityTag?, isStrong: Bool
  ) -> Bool? {
    var result: Bool?
    head.forEachValue(name) { value in
      result = result == true || EntityTag.list(value, matches: etag, isStrong: isStrong)
    }
    return result
  }

  /// The date in the only field of a name.
  private static func date(
    _ name: FieldName, in head: RequestHead, _ validators: Validators, now: HTTPDate
  ) -> HTTPDate? {
    guard let value = head.only(name) else { return nil }
    // Clients tell back what they were told: then there is nothing to read.
    let isOurs = value.span.isIdentical(to: validators.lastModifiedText.span)
    return isOurs ? validators.lastModified : HTTPDate(value, now: now)
  }
}
