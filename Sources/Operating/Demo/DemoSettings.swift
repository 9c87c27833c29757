import Cryptography
package import Settings

/// A user of the demo.
package struct DemoUser: Sendable {
    var id: String
    /// What the user types at sign-in.
    package var identifier: String
    /// The password. The demo prints it.
    package var password: String
    var name: String
    var groups: [String]

    /// The users of the demo.
    package static let all = [
        DemoUser(
            id: "user-1815",
            identifier: "ada@example.com",
            password: "analytical-engine",
            name: "Ada Lovelace",
            groups: ["staff", "admins"]
        ),
        DemoUser(
            id: "user-1906",
            identifier: "grace@example.com",
            password: "compiler-a0",
            name: "Grace Hopper",
            groups: ["staff"]
        ),
    ]
}

/// The demo's settings, as a settings file in memory.
package struct DemoSettings: Sendable {
    static let nativeClient = "demo-native"
    /// The callback of the demo's phone app, for sign-ins and sign-outs.
    static let phoneCallback = "com.example.demo:/callback"
    static let webClient = "demo-web"
    /// The URL to which the browser returns after a native app signed in with two codes instead of OAuth.
    static let appReturn = "com.example.demo:/signed-in"
    /// The scope that the native app requests for the API.
    static let apiScope = "orders:read"
    /// The API's server: a client that may introspect tokens. The demo prints its secret.
    static let apiClient = "demo-api"
    static let apiSecret = "only-for-the-demo"
    private static let secretFile = "demo-api.secret"

    /// The settings as the text of a settings file.
    package let yaml: String
    private let isLocal: Bool

    /// - Parameters:
    ///   - appPort: The port of the demo's app.
    ///   - logs: True to write the access log and the audit log.
    package init(_ place: DemoPlace, appPort: Int, logs: Bool) {
        let users = DemoUser.all.map { user in
            """
                  - identifier: \(user.identifier)
                    id: \(user.id)
                    password_hash: "\(Self.hash(user.password))"
                    traits:
                      email: \(user.identifier)
                      name: \(user.name)
                      groups: [\(user.groups.joined(separator: ", "))]
            """
        }
        self.isLocal = place.isLocal
        self.yaml = """
            listen: "\(place.listen)"
            upstream: demo
            upstreams:
              demo:
                url: http://127.0.0.1:\(appPort)
              # Nothing listens there: an app that is down.
              down:
                url: http://127.0.0.1:9
            admin:
              listen: 127.0.0.1:0

            hosts:
            \(place.origins.enumerated().map { Self.host($1, $0) }.joined(separator: "\n"))

            clients:
              - client_id: \(Self.nativeClient)
                callbacks: [\(([Self.phoneCallback] + place.appReturns).map { "\"\($0)\"" }.joined(separator: ", "))]
                allowed_logout_urls: ["\(Self.phoneCallback)"]
                session_transfer:
                  can_create_session_transfer_token: true
              - client_id: \(Self.webClient)
                session_transfer:
                  allowed_authentication_methods: [cookie, query]
                  # If other machines can connect, the app that acts as the native one has another address than the browser.
                  enforce_device_binding: \(place.seesAddresses ? "ip" : "none")
              - client_id: \(Self.apiClient)
                client_secret_file: \(Self.secretFile)

            apis:
              - audience: https://api.example.com
                scopes: ["\(Self.apiScope)", "orders:write"]
                routes: [\(place.origins.indices.map(Self.orders).joined(separator: ", "))]
                resource_servers: [\(Self.apiClient)]

            exchange:
              return_to: ["\(Self.appReturn)"]

            provider:
              static:
                users:
            \(users.joined(separator: "\n"))

            drain:
              delay: 0s
              timeout: 2s
            log:
              level: \(logs ? "info" : "error")
              access: \(logs)
              audit: \(logs)

            """
    }

    /// Returns the name of the API's route on the host at `index`.
    private static func orders(_ index: Int) -> String { index == 0 ? "orders" : "orders-\(index + 1)" }

    /// Returns the settings of one host. All hosts have the same routes. Route names must be unique, so only the first
    /// host names all of them.
    private static func host(_ origin: String, _ index: Int) -> String {
        func name(_ name: String) -> String { index == 0 ? "\n        name: \(name)" : "" }
        return """
              - public_url: "\(origin)"
                endpoints: true
                routes:
                  - path: /**\(name("app"))
                    client: \(self.webClient)
                  - path: /orders/**
                    name: \(self.orders(index))
                    require:
                      scopes: ["\(self.apiScope)"]
                  # A group that none of the users is in.
                  - path: /board/**
                    require:
                      groups_any: [board]
                  - path: /down/**
                    upstream: down
                  - path: /public/**\(name("public"))
                    auth: public
            """
    }

    /// The template of the sign-in page. It shows a password, because people with a phone do not see the terminal.
    private static let signInPage = """
        <!DOCTYPE html>
        <html lang="{{language}}" dir="{{direction}}">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>{{window_title}}</title>
        {{style}}
        </head>
        <body>
        <main>
        {{brand}}<p class="notice calm" lang="en" dir="ltr">This is a demo. Sign in with \
        <strong>\(DemoUser.all[0].identifier)</strong> and <strong>\(DemoUser.all[0].password)</strong>.</p>
        <h1>{{title}}</h1>
        {{content}}{{support}}
        </main>
        </body>
        </html>

        """

    /// Extra CSS for the sign-in page: no line breaks in names and passwords, and space below the notice.
    private static let signInStyle = "strong{white-space:nowrap}.notice+h1{margin-top:1.5rem}\n"

    /// Further settings. They are not printed, because nobody should copy them.
    private static let pages = """
        pages:
          name: Sallyport demo
          templates_dir: pages

        """

    /// Loads and validates the settings.
    package func load() throws(SettingsFailure) -> LoadedSettings {
        let files = [
            "demo.yaml": Array((self.yaml + Self.pages).utf8),
            Self.secretFile: Array(Self.apiSecret.utf8),
            "pages/login.html": Array(Self.signInPage.utf8),
            "pages/style.css": Array(Self.signInStyle.utf8),
        ]
        return try SettingsLoader.load(
            file: "demo.yaml",
            environment: [:],
            // If other machines can connect, the demo itself warns that the passwords are public.
            flags: InsecureFlags(http: true, staticUsers: !self.isLocal),
            files: SettingsFiles(
                read: { path, _ throws(SettingsFiles.Fault) in
                    guard let bytes = files[path] else { throw .absent }
                    return bytes
                },
                isReadable: { files[$0] != nil }
            )
        )
    }

    /// Returns a hash with the lowest accepted cost. The password is not secret.
    private static func hash(_ password: String) -> String {
        let salt = Random.bytes(16)
        let cost = Scrypt.Cost(n: 1024, r: 8, p: 1)
        let hash = Scrypt.derive(password: Array(password.utf8), salt: salt, cost: cost, count: 32) ?? Random.bytes(32)
        return "scrypt:\(cost.n):\(cost.r):\(cost.p):\(Base64URL.encode(salt)):\(Base64URL.encode(hash))"
    }
}
