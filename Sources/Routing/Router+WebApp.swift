package import WebApps

internal import HTTPProtocol

extension Router {
  /// Registers an app's pages and files.
  package mutating func register(_ app: WebApp) {
    for name in app.fileNames {
      get("\(app.path)/\(name)") { request, _ in
        guard let response = try app.response(to: request.head, file: name) else {
          throw HTTPError(.notFound)
        }
        return response
      }
    }
    get(app.path) { _, _ in
      var response = Response(.permanentRedirect)
      response.fields.append(.location, "\(app.path)/")
      return response
    }
  }
}
