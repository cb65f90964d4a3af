internal import Configuration
internal import Formats
internal import Glibc
internal import HTTPServer
internal import Platform
internal import ServiceKit

/// Checks whether the server can listen where the configuration says.
enum ListenCheck {
  /// Tries to bind each address. A server that runs from the same data folder is not in its own way.
  static func findings(_ server: ServerConfiguration) -> [ContentFinding] {
    if DataFolderLock.isHeld(in: server.data) {
      return [.good("listen: a server runs from this data folder now")]
    }
    return server.allListenAddresses.map { address in
      guard let problem = problem(at: address.endpoint, of: server) else {
        return .good("listen: \(address) is free")
      }
      // Nodes that share a database have no lock by which a running one is known.
      guard server.store.path == nil else { return .wrong("listen: \(problem.text)") }
      return .doubtful(
        problem.isInUse
          ? "listen: \(address.endpoint) is in use: by this server, if it runs; otherwise by another program: "
            + "stop that one, or choose another address" : "listen: \(problem.text)")
    }
  }

  private static func problem(
    at endpoint: Endpoint, of server: ServerConfiguration
  ) -> (text: String, isInUse: Bool)? {
    switch endpoint {
    // The unit may bind ports below 1024, which the user who checks may not.
    case .tcp(_, port: ..<1024): return nil
    case .tcp:
      guard let problem = WebServer.problem(listeningAt: endpoint) else { return nil }
      return (problem.description, problem == .cannotListen(endpoint, EADDRINUSE))
    case .unix(let path):
      switch unsafe access(DurableFile.folder(of: path), W_OK) {
      case 0:
        let access: SocketAccess
        do throws(CommandError) { access = try server.socketAccess() } catch {
          return (error.description, false)
        }
        guard let problem = WebServer.problem(listeningAt: endpoint, socket: access) else {
          return nil
        }
        return (problem.description, problem == .cannotListen(endpoint, EADDRINUSE))
      // The unit makes it when the service starts.
      case _ where errno == ENOENT && path.hasPrefix("/run/"): return nil
      case _ where errno == ENOENT: return ("there is no folder for the socket \(path)", false)
      default: return ("\(path): \(SystemError(errno))", false)
      }
    }
  }
}
