package import Settings

/// Finds the form of a check by its path.
package struct CheckForms: Sendable {
    /// The folder for proxies that remove the client's fields themselves and get no empty fields (`hasEmptyFields`).
    package static let valuedFolder = "/authz/valued/"
    /// The gateway's and Authelia's folders. Authelia's differs: Envoy's prefix of the path ends with a slash,
    /// proxies send only checks for the hosts of apps (`showsPages`), and nginx redirects at each 401 (`namesSignIn`).
    private static let folders = [
        (path: "/authz/", prefixEnd: "", isAuthelias: false),
        (path: Self.valuedFolder, prefixEnd: "", isAuthelias: false),
        (path: "/api/authz/", prefixEnd: "/", isAuthelias: true),
    ]
    private static let oauth2Proxy = "/oauth2/auth"
    /// The path at which Traefik's checks get the whole answer of oauth2-proxy, with the redirect to the sign-in page.
    private static let oauth2ProxyRoot = "/"

    private let forms: [CheckForm]
    /// The indices of `forms` by path.
    private let exact: ByteTable
    /// Prefixes of paths, each followed by the path of the original request, and their forms.
    private let prefixes: [(bytes: [UInt8], form: CheckForm)]

    /// - Parameters:
    ///   - exact: The exact paths of checks and their forms.
    ///   - prefixes: The prefixes of paths, each followed by the path of the original request, and their forms.
    package init(_ exact: [(path: String, form: CheckForm)], prefixes: [(bytes: [UInt8], form: CheckForm)] = []) {
        self.forms = exact.map(\.form)
        self.exact = ByteTable(exact.enumerated().map { (key: Array($1.path.utf8), value: $0) })
        self.prefixes = prefixes
    }

    /// Creates the forms for the dialects in the settings.
    ///
    /// - Parameters:
    ///   - oauth2Proxy: True if oauth2-proxy's paths are served.
    ///   - metadata: The fields read on oauth2-proxy's paths. `nil` for the fields in oauth2-proxy's manual.
    package init(_ settings: AuthorizationSettings, oauth2Proxy: Bool, reading metadata: OriginalMetadata? = nil) {
        var exact: [(path: String, form: CheckForm)] = []
        var prefixes: [(bytes: [UInt8], form: CheckForm)] = []
        for dialect in settings.dialects {
            for folder in Self.folders {
                let path = folder.path + dialect.rawValue
                func form(_ source: CheckForm.HeadSource) -> CheckForm {
                    CheckForm(
                        dialect: dialect,
                        source: .head(source),
                        showsPages: folder.isAuthelias && dialect != .authRequest,
                        namesSignIn: folder.isAuthelias && dialect == .authRequest,
                        hasEmptyFields: folder.path != Self.valuedFolder
                    )
                }
                switch dialect {
                case .forwardAuth: exact.append((path, form(.fields(.forwarded))))
                case .authRequest: exact.append((path, form(.fields(settings.metadata))))
                case .extAuthz:
                    let prefix = path + folder.prefixEnd
                    prefixes.append((Array("\(path)/".utf8), form(.request(prefix: prefix.utf8.count))))
                }
            }
        }
        if oauth2Proxy {
            let source = metadata.map { CheckForm.HeadSource.fields($0) } ?? .hostAndURI
            func form(_ dialect: AuthorizationDialect) -> CheckForm {
                CheckForm(dialect: dialect, source: .head(source), isOAuth2Proxy: true)
            }
            exact.append((Self.oauth2Proxy, form(.authRequest)))
            if metadata == .forwarded { exact.append((Self.oauth2ProxyRoot, form(.forwardAuth))) }
        }
        self.init(exact, prefixes: prefixes)
    }

    /// Returns the form of a check with this path. Returns `nil` if the listener does not serve the path.
    package subscript(path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        if let index = self.exact[path] { return self.forms[index] }
        return self.prefixes.first { path.starts(with: $0.bytes) }?.form
    }
}
