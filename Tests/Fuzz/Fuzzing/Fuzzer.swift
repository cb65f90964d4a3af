internal import CLibFuzzer
internal import Foundation

/// A program that gives any bytes to a parser and traps unless the parser keeps its promises.
///
/// Built by `make fuzz`, it runs under libFuzzer with libFuzzer's options. Built otherwise, it runs the files and folders
/// that its arguments name.
public protocol Fuzzer {
  /// The largest input worth trying, in bytes.
  static var maximumLength: Int { get }

  /// Further options of libFuzzer.
  static var options: [String] { get }

  /// Gives some bytes to the parser; a failure traps.
  static func test(_ bytes: [UInt8])
}

extension Fuzzer {
  /// 4096 bytes.
  public static var maximumLength: Int { 4096 }

  /// None.
  public static var options: [String] { [] }

  #if FUZZING
    /// Runs libFuzzer.
    public static func main() {
      current = { test($0) }
      var arguments =
        (CommandLine.arguments + options + ["-max_len=\(maximumLength)"]).map { strdup($0) } + [nil]
      var count = Int32(arguments.count - 1)
      let code = arguments.withUnsafeMutableBufferPointer { arguments in
        var start = arguments.baseAddress
        return LLVMFuzzerRunDriver(&count, &start) { start, count in
          current(Array(UnsafeBufferPointer(start: start, count: count)))
          return 0
        }
      }
      exit(code)
    }
  #else
    /// Runs the files that the arguments name, and those in the folders that they name.
    public static func main() throws {
      var tested = 0
      for path in CommandLine.arguments.dropFirst() {
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        for file in names?.sorted().map({ "\(path)/\($0)" }) ?? [path] {
          test(Array(try Data(contentsOf: URL(filePath: file))))
          tested += 1
        }
      }
      print("\(tested) inputs")
    }
  #endif
}

#if FUZZING
  // Safe to share: it is set once, before libFuzzer's one thread reads it.
  private nonisolated(unsafe) var current: ([UInt8]) -> Void = { _ in }
#endif
