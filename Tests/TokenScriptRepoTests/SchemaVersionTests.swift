internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

struct SchemaVersionTests {
  @Test(arguments: [
    ("http://tokenscript.org/2019/05/tokenscript", "2019/05"),
    ("http://tokenscript.org/2024/01/tokenscript", "2024/01"),
    ("http://tokenscript.org/0001/12/tokenscript", "0001/12"),
  ])
  func aNamespaceNamesItsVersion(namespace: String, path: String) throws {
    let version = try #require(SchemaVersion(namespace: namespace))
    #expect(version.path == path)
    #expect(version.namespace == namespace)
    #expect(SchemaVersion(path) == version)
  }

  @Test(arguments: [
    "", "http://tokenscript.org/", "http://tokenscript.org/2019/05/tokenscript/",
    "https://tokenscript.org/2019/05/tokenscript", "http://tokenscript.org/2019/13/tokenscript",
    "http://tokenscript.org/2019/00/tokenscript", "http://tokenscript.org/2019-05/tokenscript",
    "http://tokenscript.org/2019/5/tokenscript", "http://tokenscript.org/2019/+5/tokenscript",
    "http://tokenscript.org/tokenscript", "http://tokenscript.org/٢٠١٩/٠٥/tokenscript",
    "http://www.w3.org/2000/09/xmldsig#",
  ])
  func anyOtherURIIsNoVersion(namespace: String) {
    #expect(SchemaVersion(namespace: namespace) == nil)
  }

  @Test func versionsCompareAsDates() throws {
    let versions = try ["2020/03", "2019/10", "2019/05", "2018/12"].map {
      try #require(SchemaVersion($0))
    }
    #expect(versions.sorted() == versions.reversed())
  }

  @Test func segmentsAreReadAsTheyStand() {
    #expect(
      SchemaVersion(year: Array("2019".utf8)[...], month: Array("05".utf8)[...])?.path == "2019/05")
    #expect(SchemaVersion(year: Array("2019".utf8)[...], month: Array("5".utf8)[...]) == nil)
    #expect(SchemaVersion(year: Array("019".utf8)[...], month: Array("05".utf8)[...]) == nil)
    #expect(SchemaVersion(year: Array("0x19".utf8)[...], month: Array("05".utf8)[...]) == nil)
  }
}
