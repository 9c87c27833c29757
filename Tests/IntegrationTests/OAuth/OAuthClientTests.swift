import Foundation
import GatewayBench
import Testing

/// Runs OAuth clients that nobody here wrote, unmodified, against the binary: Authlib, requests-oauthlib and auth0-python.
@Suite("OAuth clients", .blocking, .enabled(if: OryClient.python != nil, "the clients are not installed"))
struct OAuthClientTests {
    private static let secret = "a client's secret of the tests"

    /// Signs a user in as a browser does, and gives what every client needs.
    private static let browser = """
        import sys, urllib.parse, requests
        base = sys.argv[1]
        callback = 'http://127.0.0.1:1/callback'
        browser = requests.Session()
        form = {'identifier': 'ada@example.com', 'password': 'analytical-engine', 'return_to': '/'}
        browser.post(base + '/.sallyport/login', form, headers={'Origin': base}, allow_redirects=False)

        def visit(url):
            answer = browser.get(url, allow_redirects=False)
            assert answer.status_code == 303, answer.text
            assert answer.headers['Location'].startswith(callback), answer.headers['Location']
            return answer.headers['Location']

        def orders(token, method='GET'):
            fields = {'Authorization': 'Bearer ' + token}
            return requests.request(method, base + '/orders/1', headers=fields).status_code

        """

    private func run(_ script: String) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let origin = "http://127.0.0.1:\(port)"
        let settings = Config.file(
            upstream: app.port,
            routes: """
                  - {path: /**}
                  - {path: /orders/**, name: orders, require: {scopes: ["orders:read"]}}
                """,
            clients: """
                  - client_id: app
                    callbacks: ["http://127.0.0.1/callback"]
                    session_transfer: {can_create_session_transfer_token: true}
                  - client_id: server
                    client_secret_file: server.secret
                    callbacks: ["http://127.0.0.1/callback"]
                """,
            publicURL: origin,
            listen: "127.0.0.1:\(port)",
            more: """
                apis:
                  - audience: https://api.example.com
                    scopes: ["orders:read", "orders:write"]
                    routes: [orders]
                    resource_servers: [server]
                  - {audience: "https://other.example.com", scopes: ["orders:read"]}
                """
        )
        try Gateway.with(settings, files: ["server.secret": Self.secret + "\n"]) { gateway throws in
            let python = try #require(OryClient.python)
            let run = try Servers.run(python, ["-c", Self.browser + script, origin, Self.secret])
            #expect(run.status == 0 && run.output == "done\n", "\(run.output)")
            #expect(!gateway.output.contains("spr_") && !gateway.output.contains("spa_"))
        }
    }

    @Test("Authlib: code with PKCE, an API's routes, refresh, rotation and reuse, introspection, revocation")
    func authlib() throws {
        try self.run(
            """
            from authlib.integrations.requests_client import OAuth2Session
            client = OAuth2Session('app', redirect_uri=callback, code_challenge_method='S256',
                scope='offline_access orders:read', token_endpoint_auth_method='none')
            metadata = requests.get(base + '/.well-known/oauth-authorization-server').json()
            assert metadata['issuer'] == base + '/'
            verifier = 'v' * 64
            url, state = client.create_authorization_url(metadata['authorization_endpoint'], code_verifier=verifier,
                audience='https://api.example.com')
            token = client.fetch_token(metadata['token_endpoint'], code_verifier=verifier, state=state,
                authorization_response=visit(url))
            first = token['access_token'], token['refresh_token']
            assert token['token_type'] == 'Bearer' and token['scope'] == 'offline_access orders:read'
            assert orders(first[0]) == 200 and orders('x') == 401
            assert requests.get(base + '/', headers={'Authorization': 'Bearer ' + first[0]}).status_code == 401

            second = client.refresh_token(metadata['token_endpoint'])
            assert second['refresh_token'] != first[1] and orders(second['access_token']) == 200
            # A lost answer: the same successor.
            assert client.refresh_token(metadata['token_endpoint'], first[1])['refresh_token'] == second['refresh_token']

            server = OAuth2Session('server', sys.argv[2], token_endpoint_auth_method='client_secret_basic')
            def introspect(token): return server.introspect_token(metadata['introspection_endpoint'], token).json()
            facts = introspect(second['access_token'])
            assert facts['active'] and facts['sub'] == 'user-1815' and facts['aud'] == 'https://api.example.com', facts
            assert introspect(second['refresh_token']) == {'active': False}

            assert client.revoke_token(metadata['revocation_endpoint'], second['refresh_token'],
                'refresh_token').status_code == 200
            assert orders(second['access_token']) == 401 and orders(first[0]) == 401
            assert introspect(second['access_token']) == {'active': False}

            # Another API's token is not for this one, and a narrow one lacks the scope.
            other = OAuth2Session('app', redirect_uri=callback, code_challenge_method='S256',
                token_endpoint_auth_method='none')
            for audience, scope, status in [('https://other.example.com', 'orders:read', 401),
                ('https://api.example.com', 'orders:write', 403)]:
                url, state = other.create_authorization_url(metadata['authorization_endpoint'],
                    code_verifier=verifier, audience=audience, scope=scope)
                back = visit(url)
                token = other.fetch_token(metadata['token_endpoint'], code_verifier=verifier, state=state,
                    authorization_response=back)
                assert 'refresh_token' not in token and orders(token['access_token']) == status

            # The id_token, verified as Auth0's SDKs do: RS256, kid, issuer with its slash.
            import jwt
            url, state = other.create_authorization_url(metadata['authorization_endpoint'], code_verifier=verifier,
                scope='openid profile email', nonce='n-1')
            token = other.fetch_token(metadata['token_endpoint'], code_verifier=verifier, state=state,
                authorization_response=visit(url))
            key = jwt.PyJWKClient(metadata['jwks_uri']).get_signing_key_from_jwt(token['id_token'])
            claims = jwt.decode(token['id_token'], key, ['RS256'], audience='app', issuer=base + '/')
            assert claims['nonce'] == 'n-1' and claims['email'] == 'ada@example.com', claims
            facts = requests.get(metadata['userinfo_endpoint'],
                headers={'Authorization': 'Bearer ' + token['access_token']}).json()
            assert facts['sub'] == claims['sub'] and facts['name'] == 'Ada Lovelace', facts
            assert requests.get(base + '/.well-known/openid-configuration').json() == metadata
            print('done')
            """
        )
    }

    @Test("requests-oauthlib: code, and refresh tokens that it renews by itself")
    func requestsOAuthlib() throws {
        try self.run(
            """
            import os
            os.environ['OAUTHLIB_INSECURE_TRANSPORT'] = '1'
            from requests_oauthlib import OAuth2Session
            kept = []
            client = OAuth2Session('server', redirect_uri=callback, scope=['offline_access', 'orders:read'], pkce='S256',
                auto_refresh_url=base + '/oauth/token', token_updater=kept.append,
                auto_refresh_kwargs={'client_id': 'server', 'client_secret': sys.argv[2]})
            url, state = client.authorization_url(base + '/authorize', audience='https://api.example.com')
            token = client.fetch_token(base + '/oauth/token', authorization_response=visit(url), client_secret=sys.argv[2])
            assert client.get(base + '/orders/1').status_code == 200
            client.token = dict(token, expires_at=1, expires_in=-1)
            assert client.get(base + '/orders/1').status_code == 200
            assert kept and kept[0]['refresh_token'] != token['refresh_token']
            print('done')
            """
        )
    }

    @Test("auth0-python: code, refresh and revocation in its JSON")
    func auth0Python() throws {
        try self.run(
            """
            import base64, hashlib
            from auth0.authentication import GetToken, RevokeToken
            from auth0.authentication.exceptions import Auth0Error
            domain = base.removeprefix('http://')
            verifier = 'v' * 64
            challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b'=').decode()
            query = urllib.parse.urlencode({'client_id': 'app', 'response_type': 'code', 'redirect_uri': callback,
                'scope': 'offline_access orders:read', 'audience': 'https://api.example.com',
                'code_challenge': challenge, 'code_challenge_method': 'S256', 'auth0Client': 'eyJuYW1lIjoieCJ9'})
            back = urllib.parse.urlparse(visit(base + '/authorize?' + query))
            code = urllib.parse.parse_qs(back.query)['code'][0]
            client = GetToken(domain, 'app', protocol='http')
            token = client.authorization_code_pkce(verifier, code, callback)
            assert orders(token['access_token']) == 200
            second = client.refresh_token(token['refresh_token'])
            assert second['refresh_token'] != token['refresh_token']
            minted = client.authenticated_post(base + '/oauth/token', data={'client_id': 'app',
                'grant_type': 'refresh_token', 'refresh_token': second['refresh_token'],
                'audience': 'urn:' + domain + ':session_transfer'})
            assert minted['token_type'] == 'N_A' and minted['access_token'].startswith('spt_'), minted
            RevokeToken(domain, 'app', protocol='http').revoke_refresh_token(minted['refresh_token'])
            try:
                client.refresh_token(minted['refresh_token'])
                assert False
            except Auth0Error as error:
                assert error.error_code == 'invalid_grant'
                assert error.message == 'Unknown or invalid refresh token.', error.message
            assert orders(second['access_token']) == 401
            print('done')
            """
        )
    }
}
