package import Settings

/// The paths at which proxies ask, and how they ask there.
package struct CheckForms: Sendable {
    /// Where proxies ask that let the app see a field without a value, and remove the client's fields before they ask.
    package static let valuedFolder = "/authz/valued/"
    /// The gateway's own, and Authelia's: there, Envoy's prefix for a path (`/page`) ends with a slash, proxies send the
    /// gateway nothing but checks on the hosts of apps, and nginx makes a redirect of each 401.
    private static let folders = [
        (path: "/authz/", prefixEnd: "", isAuthelias: false),
        (path: Self.valuedFolder, prefixEnd: "", isAuthelias: false),
        (path: "/api/authz/", prefixEnd: "/", isAuthelias: true),
    ]
    private static let oauth2Proxy = "/oauth2/auth"
    /// Where Traefik asks oauth2-proxy for the whole answer, its redirect to the sign-in included.
    private static let oauth2ProxyRoot = "/"

    private let forms: [CheckForm]
    /// The indices of `forms` by path.
    private let exact: ByteTable
    /// What stands before the path of the original request.
    private let prefixes: [(bytes: [UInt8], form: CheckForm)]

    /// - Parameters:
    ///   - exact: The forms by the paths of their checks.
    ///   - prefixes: The forms by what stands before the path of the original request.
    package init(_ exact: [(path: String, form: CheckForm)], prefixes: [(bytes: [UInt8], form: CheckForm)] = []) {
        self.forms = exact.map(\.form)
        self.exact = ByteTable(exact.enumerated().map { (key: Array($1.path.utf8), value: $0) })
        self.prefixes = prefixes
    }

    /// The forms of the dialects in the settings.
    ///
    /// - Parameters:
    ///   - oauth2Proxy: Whether its paths are served.
    ///   - metadata: What is read there; nil: what nginx and Caddy send as its manual says.
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

    /// The form of a check with this path; nil: it is none of the listener's.
    package subscript(path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        if let index = self.exact[path] { return self.forms[index] }
        return self.prefixes.first { path.starts(with: $0.bytes) }?.form
    }
}
