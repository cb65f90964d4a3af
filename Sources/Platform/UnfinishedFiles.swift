internal import Glibc

/// The files and folders that a command is making, which go if a signal ends it before they are complete.
package enum UnfinishedFiles {
  private static let paths = Lock<[String]>([])

  /// Records paths that are about to be made.
  package static func add(_ new: [String]) { paths.withLock { $0 += new } }

  /// Forgets paths that stay, or are gone. Once ``removeAll()`` has begun, it doesn't return.
  package static func forget(_ gone: [String]) {
    paths.withLock { $0.removeAll(where: gone.contains) }
  }

  /// Removes files that aren't needed any more, of which some may not have been made, and forgets them.
  package static func discard(_ files: [String]) {
    for file in files { unsafe unlink(file) }
    forget(files)
  }

  /// Removes everything, the newest first, and calls a closure that ends the process. What is complete meanwhile waits.
  ///
  /// A folder that others have put something into stays.
  package static func removeAll(andThen end: () -> Never) -> Never {
    paths.withLock { paths -> Never in
      for path in paths.reversed() { unsafe remove(path) }
      end()
    }
  }
}
