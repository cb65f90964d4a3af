internal import Storage
internal import Testing

@Suite struct PostgreSQLAddressTests {
  /// A server on another machine has to prove who it is; one on this machine needn't.
  @Test(arguments: [
    ("postgresql:///awd", false), ("postgresql://awd@localhost/awd", false),
    ("postgresql://127.0.0.1/awd", false), ("postgresql://127.8.9.10:5433/awd", false),
    ("postgresql://[::1]/awd", false), ("postgresql:///awd?host=/run/postgresql", false),
    ("postgresql:///awd?host=@awd", false), ("postgresql://db.example/awd", true),
    // Names that only look like this machine's, and one foreign host among several.
    ("postgresql://127.evil.example/awd", true), ("postgresql://localhost.example/awd", true),
    ("postgresql://localhost,db.example/awd", true), ("postgresql://[::2]/awd", true),
    // libpq connects to the address, whatever the name is.
    ("postgresql://localhost/awd?hostaddr=192.0.2.1", true),
    ("postgresql://db.example/awd?hostaddr=127.0.0.1", false),
    // A service's file may name any host.
    ("postgresql:///awd?service=elsewhere", true),
    ("postgresql://db.example/awd?sslmode=require", true),
    ("postgresql://db.example/awd?sslmode=verify-full", false),
  ])
  func knowsWhetherTheServerMayBeAnother(_ url: String, _ isUnverified: Bool) throws {
    #expect(try PostgreSQLAddress(url).isUnverified == isUnverified)
  }
}
