internal import HTTPProtocol
internal import TestSupport
internal import Testing

struct PreconditionsTests {
  static let modified = HTTPDate(784_111_777)
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
  static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
  static let now = HTTPDate(784_111_877)
  static let future = "Sun, 06 Nov 2094 08:49:37 GMT"

  static let table: [(fields: [(String, String)], get: Preconditions.Outcome)] = [
    ([], .proceed),
    ([("If-None-Match", "\"a\"")], .notModified), ([("If-None-Match", "W/\"a\"")], .notModified),
    ([("If-None-Match", "*")], .notModified), ([("If-None-Match", "\"b\"")], .proceed),
    ([("If-None-Match", "\"x\", W/\"a\" , \"y\"")], .notModified),
    ([("If-None-Match", ",,\"x,\",\"a\"")], .notModified),
    ([("If-None-Match", "\"x\""), ("If-None-Match", "\"a\"")], .notModified),
    ([("If-None-Match", "a")], .proceed), ([("If-None-Match", "\"a")], .proceed),
    ([("If-None-Match", "w/\"a\"")], .proceed), ([("If-None-Match", "")], .proceed),
    ([("If-None-Match", "\"x\" \"a\"")], .proceed), ([("If-None-Match", "\"A\"")], .proceed),
    ([("If-None-Match", "**")], .proceed), ([("If-None-Match", "\"\"")], .proceed),
    ([("If-Modified-Since", date)], .notModified), ([("If-Modified-Since", later)], .notModified),
    ([("If-Modified-Since", earlier)], .proceed), ([("If-Modified-Since", future)], .proceed),
    ([("If-Modified-Since", "Thu, 1 Jan 1970 00:00:00 GMT")], .proceed),
    ([("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")], .notModified),
    ([("If-Modified-Since", "garbage")], .proceed), ([("If-Modified-Since", "")], .proceed),
    ([("If-Modified-Since", date), ("If-Modified-Since", later)], .proceed),
    ([("If-None-Match", "\"b\""), ("If-Modified-Since", date)], .proceed),
    ([("If-None-Match", "\"a\""), ("If-Modified-Since", earlier)], .notModified),
    ([("If-Match", "\"a\"")], .proceed), ([("If-Match", "*")], .proceed),
    ([("If-Match", "W/\"a\"")], .failed), ([("If-Match", "\"b\"")], .failed),
    ([("If-Match", "\"a\""), ("If-None-Match", "\"a\"")], .notModified),
    ([("If-Match", "\"a\""), ("If-Unmodified-Since", earlier)], .proceed),
    ([("If-Unmodified-Since", earlier)], .failed), ([("If-Unmodified-Since", date)], .proceed),
    ([("If-Unmodified-Since", "garbage")], .proceed),
  ]

  private func outcome(
    _ method: Method, _ fields: [(String, String)], etag: EntityTag? = EntityTag("a"),
    modified: HTTPDate? = modified
  ) throws -> Preconditions.Outcome {
    let head = try RequestHead(
      method: method, path: "/", authority: "a",
      fields: fields.map { (name: $0.0, value: $0.1) })
    let validators = Validators(entityTag: etag, lastModified: modified)
    return Preconditions.evaluate(head, validators, now: Self.now)
  }

  @Test(arguments: table)
  func evaluates(fields: [(String, String)], expected: Preconditions.Outcome) throws {
    #expect(try outcome(.get, fields) == expected)
    #expect(try outcome(.head, fields) == expected)
  }

  @Test func otherMethods() throws {
    #expect(try outcome(.post, [("If-Modified-Since", Self.date)]) == .proceed)
    #expect(try outcome(.post, [("If-None-Match", "\"a\"")]) == .failed)
    #expect(try outcome(.put, [("If-Match", "\"b\"")]) == .failed)
  }

  @Test func withoutValidators() throws {
    #expect(try outcome(.get, [("If-None-Match", "\"a\"")], etag: nil) == .proceed)
    #expect(try outcome(.get, [("If-None-Match", "*")], etag: nil) == .notModified)
    #expect(try outcome(.get, [("If-Match", "\"a\"")], etag: nil) == .failed)
    #expect(try outcome(.get, [("If-Modified-Since", Self.date)], modified: nil) == .proceed)
    #expect(try outcome(.get, [("If-Unmodified-Since", Self.earlier)], modified: nil) == .proceed)
  }

  @Test func tagsHaveNoOtherBytes() {
    #expect(EntityTag("a\" \r\nb").text == "\"a____b\"")
  }
}
