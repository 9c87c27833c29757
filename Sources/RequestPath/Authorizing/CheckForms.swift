package import Settings

/// Finds the form of a check (forward auth) by its path.
package struct CheckForms: Sendable {
    /// The folder for proxies that remove the client's identity fields themselves, so the answers need no empty fields.
    package static let valuedFolder = "/authz/valued/"
    /// The folders of paths for checks. In Authelia's folder, `/api/authz/`, Envoy's path prefix ends with a slash.
    private static let folders = [
        (path: "/authz/", prefixEnd: "", isAuthelias: false),
        (path: Self.valuedFolder, prefixEnd: "", isAuthelias: false),
        (path: "/api/authz/", prefixEnd: "/", isAuthelias: true),
    ]
    private static let oauth2Proxy = "/oauth2/auth"
    /// The path of Traefik's checks for oauth2-proxy. Their answers include the redirect to the sign-in page.
    private static let oauth2ProxyRoot = "/"

    private let forms: [CheckForm]
    /// Maps a path to an index of `forms`.
    private let exact: ByteTable
    /// Path prefixes and their forms. The original request's path follows the prefix.
    private let prefixes: [(bytes: [UInt8], form: CheckForm)]

    /// - Parameters:
    ///   - exact: Complete paths and their forms.
    ///   - prefixes: Path prefixes and their forms. The original request's path follows the prefix.
    package init(_ exact: [(path: String, form: CheckForm)], prefixes: [(bytes: [UInt8], form: CheckForm)] = []) {
        self.forms = exact.map(\.form)
        self.exact = ByteTable(exact.enumerated().map { (key: Array($1.path.utf8), value: $0) })
        self.prefixes = prefixes
    }

    /// Creates the forms for the dialects in the settings.
    ///
    /// - Parameters:
    ///   - oauth2Proxy: True if oauth2-proxy's paths are served.
    ///   - metadata: The fields that describe the original request. `nil` for those of oauth2-proxy's manual.
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

    /// Returns the form of checks at this path. `nil` if the listener does not serve the path.
    package subscript(path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        if let index = self.exact[path] { return self.forms[index] }
        return self.prefixes.first { path.starts(with: $0.bytes) }?.form
    }
}
