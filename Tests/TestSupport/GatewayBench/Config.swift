/// Settings files for tests.
package enum Config {
    /// Two routes: `/public/**` is public, and every other path needs a session.
    package static let routes = """
          - path: /**
            name: app
            client: web
          - path: /public/**
            name: public
            auth: public
        """

    /// Ada is staff and admin, Grace is staff, Mary signs in with two factors and has no email.
    package static let users = """
              - identifier: ada@example.com
                id: user-1815
                password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"
                traits: {email: ada@example.com, username: ada, name: Ada Lovelace, groups: [staff, admins]}
              - identifier: grace@example.com
                id: user-1906
                password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:_vwxyCGIGT1K80tFLMr2a4k1qcghTqalEziQ193eW_g"
                traits: {email: grace@example.com, name: Grace Hopper, groups: [staff]}
              - identifier: mary
                id: user-1647
                password_hash: "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:_vwxyCGIGT1K80tFLMr2a4k1qcghTqalEziQ193eW_g"
                traits: {name: "M\\u00e1ry \\u2713 100%"}
                aal: aal2
        """

    /// The native client and one web client.
    package static func clients(binding: String = "ip", methods: String = "cookie, query", more: String = "") -> String
    {
        """
          - client_id: native
            session_transfer:
              can_create_session_transfer_token: true
          - client_id: web
            session_transfer:
              allowed_authentication_methods: [\(methods)]
              enforce_device_binding: \(binding)
        \(more)
        """
    }

    /// A complete settings file.
    ///
    /// - Parameters:
    ///   - upstream: The port of the app.
    ///     - more: Additional top-level keys.
    package static func file(
        upstream: Int,
        routes: String = Config.routes,
        clients: String = Config.clients(),
        publicURL: String = Request.origin,
        listen: String = "127.0.0.1:0",
        admin: String = "127.0.0.1:0",
        drain: String = "0s",
        drainTimeout: String = "1s",
        loops: Int = 1,
        more: String = ""
    ) -> String {
        """
        public_url: \(publicURL)
        listen: \(listen)
        event_loops: \(loops)
        admin:
          listen: \(admin)
        upstream: http://127.0.0.1:\(upstream)
        session:
          cookie: sallyport
        routes:
        \(routes)
        clients:
        \(clients)
        provider:
          static:
            users:
        \(self.users)
        drain:
          delay: \(drain)
          timeout: \(drainTimeout)
        \(more)

        """
    }

    /// A settings file with one public route, for tests that need no session.
    package static func open(upstream: Int, _ route: String = "", more: String = "", drainTimeout: String = "1s")
        -> String
    {
        let lines = ["  - path: /**", "    auth: public"] + route.split(separator: "\n").map { "    \($0)" }
        return self.file(
            upstream: upstream,
            routes: lines.joined(separator: "\n"),
            drainTimeout: drainTimeout,
            more: more
        )
    }
}
