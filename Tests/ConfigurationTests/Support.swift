internal import Configuration
internal import Glibc

/// A reader over the text of a file named `awd.toml`, and what its environment overrides.
func reader(
  _ text: String, _ environment: [String: String] = [:], file: String? = "awd.toml"
) throws -> ConfigurationReader {
  ConfigurationReader(
    try ConfigurationDocument(parsing: Array(text.utf8), file: file, environment: environment))
}

/// What `finish` reports, one problem a line; empty if all is well.
func problems(_ reader: ConfigurationReader, ignoring: Set<String> = []) -> String {
  do throws(ConfigurationError) {
    try reader.finish(ignoring: ignoring)
    return ""
  } catch {
    return error.description
  }
}

/// The error of a document that can't be read at all.
func refusal(_ bytes: [UInt8]) -> String {
  do throws(ConfigurationError) {
    _ = try ConfigurationDocument(parsing: bytes, file: "awd.toml")
    return ""
  } catch {
    return error.description
  }
}

/// A file that is removed with the value.
final class TemporaryFile {
  let path: String

  init(_ bytes: [UInt8]) throws {
    var name = Array("/tmp/awd-configuration-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw WriteError() }
  }

  deinit { unlink(path) }
}

struct WriteError: Error {}
