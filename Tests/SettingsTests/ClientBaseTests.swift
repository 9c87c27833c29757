import Settings
import Testing
import Vocabulary

/// Changes of clients at run time are judged as the file is.
@Suite("Clients that are not in the file") struct ClientBaseTests {
    private static let file = """
        clients:
          - client_id: native
            refresh_token: {leeway: 2m}
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web-app
            client_secret_file: web-app.secret
            callbacks: ["https://app.example.com/callback"]
        apis:
          - {audience: "https://api.example.com", resource_servers: [web-app]}

        """

    private func base(_ text: String = Self.file) throws -> ClientBase {
        try SettingsBench().load(SettingsBench.base + text).get().clients
    }

    private func definition(_ id: String, _ json: String, secret: String? = nil) throws -> ClientDefinition {
        let members = try #require(JSONText.decode(Array(json.utf8)))
        return ClientDefinition(
            members: members.merged(with: ["client_id": .string(id)]),
            secret: secret.map { Secret(Array($0.utf8)) }
        )
    }

    private func fault(_ id: String, _ json: String, secret: String? = nil) throws -> ClientFault? {
        let (base, definition) = (try self.base(), try self.definition(id, json, secret: secret))
        do throws(ClientFault) {
            _ = try base.clients(changed: [id: definition])
            return nil
        } catch {
            return error
        }
    }

    @Test("The handoffs of a client that a route names can be stopped at run time; in the file that is a mistake")
    func stopped() throws {
        let methods = "{allowed_authentication_methods: [query], enforce_device_binding: none}"
        let text = "clients: [{client_id: web, session_transfer: \(methods)}]\nroutes: [{path: /**, client: web}]\n"
        let base = try self.base(text)
        for json in [
            #"{"session_transfer": {"allowed_authentication_methods": []}}"#, #"{"session_transfer": {}}"#, "{}",
        ] {
            let web = try base.clients(changed: ["web": self.definition("web", json)]).first
            #expect(web?.clientID == "web" && web?.allowsQuery == false && web?.allowsCookie == false)
        }
        // A route needs its client all the same.
        #expect(throws: ClientFault.self) { try base.clients(changed: ["web": nil]) }
        let empty = text.replacing("[query]", with: "[]")
        #expect(SettingsBench().problems(adding: empty).map(\.key) == ["routes[0].client"])
    }

    @Test("What the file says of a client is an object in Auth0's form, without the names of files")
    func objects() throws {
        let base = try self.base()
        #expect(base.ids == ["native", "web-app"])
        #expect(
            base.definitions["native"] == [
                "client_id": "native", "refresh_token": ["leeway": 120],
                "session_transfer": ["can_create_session_transfer_token": true],
            ]
        )
        #expect(
            base.definitions["web-app"]
                == ["client_id": "web-app", "callbacks": ["https://app.example.com/callback"]]
        )
        #expect(base.withSecretFile == ["web-app"])
    }

    @Test("The defaults are those of the keys, and those of Auth0 for session_transfer")
    func defaults() throws {
        let defaults = try self.base().defaults
        #expect(
            defaults["session_transfer"] == [
                "can_create_session_transfer_token": false, "allowed_authentication_methods": [],
                "enforce_device_binding": "ip", "allow_refresh_token": false, "enforce_cascade_revocation": true,
                "enforce_online_refresh_tokens": true, "binding_dry_run": false, "on_mismatch": "burn",
                "on_replay": "refuse",
                "delegation": ["allow_delegated_access": false, "enforce_device_binding": "ip"],
            ]
        )
        #expect(defaults["refresh_token"]?["token_lifetime"] == .integer(90 * 86400))
        #expect(defaults["refresh_token"]?["leeway"] == 60 && defaults["callbacks"] == [])
        #expect(defaults["grant_types"] == .array(GrantType.usual.map { .string($0.rawValue) }))
        #expect(defaults["client_id"] == nil && defaults["app_type"] == nil)
    }

    @Test("An object makes the client that the same words in the file make, by any spelling of a duration")
    func sameClient() throws {
        let json = """
            {"callbacks": ["https://shop.example.com/cb"], "refresh_token": {"leeway": 30, "idle_token_lifetime": "7d"},
             "session_transfer": {"allowed_authentication_methods": ["cookie", "query"],
                                  "enforce_device_binding": "asn"}}
            """
        let asn = "asn: {csv: /etc/sallyport/ca.pem}\n"
        let made = try self.base(Self.file + asn).clients(changed: ["shop": self.definition("shop", json)])
        let text = """
            asn: {csv: /etc/sallyport/ca.pem}
            clients:
              - client_id: shop
                callbacks: ["https://shop.example.com/cb"]
                refresh_token: {leeway: 30s, idle_token_lifetime: 7d}
                session_transfer: {allowed_authentication_methods: [cookie, query], enforce_device_binding: asn}

            """
        let written = try SettingsBench().load(SettingsBench.base + text).get().settings.clients
        #expect(made.last == written.first && made.count == 3)
    }

    @Test("A client that is not changed stays as it is, and one that is keeps the files that the file names")
    func files() throws {
        let changed = try self.base().clients(changed: ["web-app": self.definition("web-app", "{}")])
        let web = try #require(changed.first { $0.clientID == "web-app" })
        #expect(web.clientSecrets == [Secret(Array(canary.utf8))] && web.callbacks.isEmpty)
        #expect(changed.first { $0.clientID == "native" }?.refreshToken.leeway == .seconds(120))
    }

    @Test("A secret in place of a file's is judged as that")
    func secrets() throws {
        let definition = try self.definition("web-app", "{}", secret: "a secret of the tests")
        let web = try self.base().clients(changed: ["web-app": definition]).first { $0.clientID == "web-app" }
        #expect(web?.clientSecrets == [Secret(Array("a secret of the tests".utf8))])
        #expect(try self.fault("web-app", "{}", secret: "short")?.key == "client_secret")
    }

    @Test(
        "What the file cannot say is refused with the path of the member",
        arguments: [
            (#"{"session_transfer": {"enforce_device_binding": "imei"}}"#, "session_transfer.enforce_device_binding"),
            (
                #"{"session_transfer": {"can_create_session_transfer_token": "true"}}"#,
                "session_transfer.can_create_session_transfer_token"
            ),
            (
                #"{"session_transfer": {"allowed_authentication_methods": ["header"]}}"#,
                "session_transfer.allowed_authentication_methods[0]"
            ),
            (
                #"{"session_transfer": {"delegation": {"allow_delegated_access": "true"}}}"#,
                "session_transfer.delegation.allow_delegated_access"
            ),
            (#"{"session_transfer": []}"#, "session_transfer"),
            (#"{"callbacks": ["javascript:alert(1)"]}"#, "callbacks[0]"), (#"{"callbacks": [7]}"#, "callbacks[0]"),
            (#"{"callbacks": [null]}"#, "callbacks[0]"),
            (#"{"refresh_token": {"leeway": 601}}"#, "refresh_token.leeway"),
            (#"{"refresh_token": {"rotation_type": "non-rotating"}}"#, "refresh_token.rotation_type"),
            (#"{"native_social_login": {"google": {"enabled": true}}}"#, "native_social_login.google.enabled"),
            (#"{"is_token_endpoint_ip_header_trusted": true}"#, "is_token_endpoint_ip_header_trusted"),
            (#"{"token_endpoint_auth_method": "client_secret_post"}"#, "token_endpoint_auth_method"),
            (#"{"app_type": true}"#, "app_type"),
            (#"{"mobile": {"ios": {"app_bundle_identifier": 5}}}"#, "mobile.ios.app_bundle_identifier"),
            (#"{"client_secret_file": "/etc/passwd"}"#, "client_secret_file"), (#"{"jwks_file": "x"}"#, "jwks_file"),
            (#"{"sesion_transfer": {}}"#, "sesion_transfer"),
            (#"{"session_transfer": {"enforce_device_bindng": "asn"}}"#, "session_transfer.enforce_device_bindng"),
        ]
    )
    func refusals(_ example: (json: String, path: String)) throws {
        let fault = try #require(try self.fault("shop", example.json), "\(example.json)")
        #expect(fault.clientID == "shop" && fault.key == example.path, "\(fault.sentence)")
        #expect(!fault.sentence.contains("passwd") && !fault.sentence.contains(canary))
    }

    @Test("Members of Auth0's object that no key has are accepted and mean nothing")
    func unknown() throws {
        let names = [
            "name", "description", "logo_uri", "oidc_logout", "oidc_conformant", "sso", "sso_disabled", "addons",
            "allowed_clients", "web_origins", "client_aliases", "client_metadata", "organization_usage", "api_type",
            "organization_require_behavior", "jwt_configuration", "encryption_key", "is_first_party", "form_template",
            "cross_origin_authentication", "cross_origin_loc", "custom_login_page", "custom_login_page_on",
            "default_organization", "require_pushed_authorization_requests", "client_authentication_methods",
            "signed_request_object", "compliance_level", "token_exchange", "token_quota", "par_request_expiry",
            "oidc_backchannel_logout", "tenant", "global", "callback_url_template", "signing_keys",
        ]
        for name in names { #expect(try self.fault("shop", #"{"\#(name)": {"x": 1}}"#) == nil, "\(name)") }
        let json = #"{"refresh_token": {"expiration_type": "expiring", "infinite_token_lifetime": false}}"#
        #expect(try self.fault("shop", json) == nil)
        let written: JSONValue = [
            "client_id": "shop", "name": "Shop", "refresh_token": ["leeway": "1m", "policies": []],
        ]
        let kept = try self.base().normalised(written)
        #expect(kept == written.merged(with: ["refresh_token": ["leeway": 60]]))
    }

    @Test("A client that other settings need can neither go nor become public")
    func needed() throws {
        let base = try self.base()
        #expect(throws: ClientFault.self) { try base.clients(changed: ["web-app": nil]) }
        do throws(ClientFault) {
            _ = try base.clients(changed: ["web-app": nil])
        } catch {
            #expect(error.clientID == nil && error.key == "apis[0].resource_servers[0]", "\(error.sentence)")
        }
        #expect(throws: Never.self) { try base.clients(changed: ["native": nil]) }
    }
}
