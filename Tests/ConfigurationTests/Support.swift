internal import Configuration
internal import TestSupport

/// Makes a reader of the text of a file named `awd.toml` and of environment variables.
func reader(
  _ text: String, _ environment: [String: String] = [:], file: String? = "awd.toml"
) throws -> ConfigurationReader {
  ConfigurationReader(
    try ConfigurationDocument(parsing: Array(text.utf8), file: file, environment: environment))
}

/// Returns the problems that `finish` reports, one per line.
func problems(_ reader: ConfigurationReader, ignoring: Set<String> = []) -> String {
  do throws(ConfigurationError) {
    try reader.finish(ignoring: ignoring)
    return ""
  } catch {
    return error.description
  }
}

/// Returns the error of a document that can't be read at all.
func refusal(_ bytes: [UInt8]) -> String {
  do throws(ConfigurationError) {
    _ = try ConfigurationDocument(parsing: bytes, file: "awd.toml")
    return ""
  } catch {
    return error.description
  }
}

/// A file that is removed with the value.
struct TemporaryFile {
  private let folder = TemporaryFolder()
  let path: String

  init(_ bytes: [UInt8]) throws { path = try folder.write("file", bytes) }
}
