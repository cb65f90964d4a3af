internal import TestSupport
internal import Testing

@testable import WalletClient

/// `Link` fields, well-formed as in RFC 8288 and malformed.
@Suite struct WebLinkTests {
  @Test(arguments: [
    ("</a>; rel=\"alternate\"; title=\"A\"", ["/a|alternate|A"]),
    (
      "</a>;rel=alternate;title=A, </b>; rel=\"next ALTERNATE\"",
      ["/a|alternate|A", "/b|next,alternate|"]
    ),
    ("</a,b;c>; title=\"x, y; \\\"z\\\\\"; rel=alternate", ["/a,b;c|alternate|x, y; \"z\\"]),
    ("</a>; title=\"plain\"; title*=UTF-8''%e2%82%ac%20x", ["/a||\u{20ac} x"]),
    ("</a>; title=\"plain\"; title*=UTF-8''%ff", ["/a||plain"]),
    ("</a>; title*=latin1''x", ["/a||"]), ("</a>; rel=one; rel=two", ["/a|one|"]),
    ("</a> ; crossorigin ; rel = alternate , ,</b>", ["/a|alternate|", "/b||"]),
    ("</a>, </b", ["/a||"]), ("</a>, b; rel=next", ["/a||"]), ("</a>; title=\"open", []),
    ("</a>; title=\"open\\", []), ("</a> x, </b>", []), ("", []), (",,,", []), ("</a>;", ["/a||"]),
  ])
  func links(_ text: String, _ expected: [String]) {
    let found = WebLink.list(text).map {
      "\($0.target)|\($0.relations.joined(separator: ","))|\($0.title ?? "")"
    }
    #expect(found == expected)
  }
}
