import Foundation
import GatewayBench
import Testing

/// Runs OAuth clients that nobody here wrote, unmodified, against the binary: Authlib, requests-oauthlib and auth0-python.
@Suite("OAuth clients", .blocking, .enabled(if: OryClient.python != nil, "the clients are not installed"))
struct OAuthClientTests {
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

    private func run(_ script: String, port: Int? = nil, _ arguments: [String] = []) throws {
        try OAuthScript.run(Self.browser + script, port: port, arguments)
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

    @Test("jwcrypto makes the proofs: bound tokens, refresh, nonces, userinfo and an API, and what must be refused")
    func jwcrypto() throws {
        try self.run(
            """
            import base64, hashlib, time, uuid
            from jwcrypto import jwk, jwt
            def hashed(text): return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
            class Key:
                def __init__(self, kty='EC', crv='P-256', alg='ES256'):
                    self.key, self.alg, self.nonce = jwk.JWK.generate(kty=kty, crv=crv), alg, None
                def proof(self, method, url, token=None, **changes):
                    claims = {'jti': str(uuid.uuid4()), 'htm': method, 'htu': url, 'iat': int(time.time())}
                    if token: claims['ath'] = hashed(token)
                    if self.nonce: claims['nonce'] = self.nonce
                    claims.update(changes)
                    header = {'typ': 'dpop+jwt', 'alg': self.alg, 'jwk': self.key.export_public(as_dict=True)}
                    made = jwt.JWT(header=header, claims=claims)
                    made.make_signed_token(self.key)
                    return made.serialize()
                def send(self, method, path, token=None, data=None):
                    for attempt in range(2):
                        fields = {'DPoP': self.proof(method, base + path, token)}
                        if token: fields['Authorization'] = 'DPoP ' + token
                        answer = requests.request(method, base + path, data=data, headers=fields)
                        self.nonce = answer.headers.get('DPoP-Nonce', self.nonce)
                        asked = 'use_dpop_nonce' in (answer.text + answer.headers.get('WWW-Authenticate', ''))
                        if not asked: break
                        assert answer.status_code == (400 if path == '/oauth/token' else 401)
                    return answer

            def begin(key, scope, **more):
                verifier = 'v' * 64
                query = {'client_id': 'app', 'response_type': 'code', 'redirect_uri': callback, 'scope': scope,
                    'code_challenge': hashed(verifier), 'code_challenge_method': 'S256', **more}
                back = urllib.parse.urlparse(visit(base + '/authorize?' + urllib.parse.urlencode(query)))
                return {'grant_type': 'authorization_code', 'client_id': 'app', 'redirect_uri': callback,
                    'code': urllib.parse.parse_qs(back.query)['code'][0], 'code_verifier': verifier}

            for key in [Key(), Key('OKP', 'Ed25519', 'EdDSA')]:
                first = key.send('POST', '/oauth/token', data=begin(key, 'openid offline_access', dpop_jkt=key.key.thumbprint()))
                assert first.status_code == 200 and first.json()['token_type'] == 'DPoP', first.text
                token = first.json()['access_token']
                assert key.send('GET', '/userinfo', token).json()['sub'] == 'user-1815'
                bearer = requests.get(base + '/userinfo', headers={'Authorization': 'Bearer ' + token})
                assert bearer.status_code == 401 and bearer.headers['WWW-Authenticate'].startswith('DPoP error="invalid_token"')
                refresh = {'grant_type': 'refresh_token', 'client_id': 'app', 'refresh_token': first.json()['refresh_token']}
                naked = requests.post(base + '/oauth/token', data=refresh)
                assert naked.status_code == 400 and naked.json()['error'] == 'invalid_dpop_proof', naked.text
                assert Key().send('POST', '/oauth/token', data=refresh).json()['error'] == 'invalid_dpop_proof'
                assert key.send('POST', '/oauth/token', data=refresh).status_code == 200

            key = Key()
            api = {'audience': 'https://api.example.com'}
            tokens = key.send('POST', '/oauth/token', data=begin(key, 'orders:read', **api)).json()
            token = tokens['access_token']
            assert orders(token) == 401
            assert key.send('GET', '/orders/1?page=2', token).status_code == 200
            # A clock that is wrong by a day does not matter once there is a nonce.
            def call(proof, path='/orders/1', **fields):
                return requests.get(base + path, headers={'Authorization': 'DPoP ' + token, 'DPoP': proof, **fields})
            url = base + '/orders/1'
            assert call(key.proof('GET', url, token, iat=int(time.time()) - 86400)).status_code == 200
            once = key.proof('GET', url, token)
            assert [call(once).status_code, call(once).status_code] == [200, 401]
            wrong = [key.proof('POST', url, token), key.proof('GET', base + '/orders/2', token),
                key.proof('GET', url), key.proof('GET', url, token + 'x'), Key().proof('GET', url, token),
                key.proof('GET', 'http://evil.example.com/orders/1', token), once + ', ' + once, 'x.y.z', '']
            for proof in wrong:
                answer = call(proof)
                assert answer.status_code == 401, (proof, answer.text)
                assert answer.headers['WWW-Authenticate'].startswith('DPoP error="'), answer.headers
            print('done')
            """
        )
    }

    @Test("Authlib: a client that signs with its own key instead of sending a secret (private_key_jwt)")
    func privateKeyJWT() throws {
        try self.run(
            """
            import json
            from authlib.integrations.base_client import OAuthError
            from authlib.integrations.requests_client import OAuth2Session
            from authlib.oauth2.rfc7523 import PrivateKeyJWT
            from joserfc.jwk import RSAKey
            metadata = requests.get(base + '/.well-known/oauth-authorization-server').json()
            assert 'private_key_jwt' in metadata['token_endpoint_auth_methods_supported'], metadata

            def session(key):
                client = OAuth2Session('signer', key, redirect_uri=callback, scope='offline_access orders:read',
                    token_endpoint_auth_method='private_key_jwt', revocation_endpoint_auth_method='private_key_jwt')
                client.register_client_auth_method(PrivateKeyJWT(metadata['token_endpoint']))
                return client

            client = session(RSAKey.import_key(json.loads(sys.argv[3])))
            url, state = client.create_authorization_url(metadata['authorization_endpoint'],
                audience='https://api.example.com')
            client.fetch_token(metadata['token_endpoint'], state=state, authorization_response=visit(url))
            assert orders(client.token['access_token']) == 200
            token = client.refresh_token(metadata['token_endpoint'])
            assert client.introspect_token(metadata['introspection_endpoint'], token['access_token']).json()['active']

            other = session(RSAKey.generate_key(2048))
            try:
                other.refresh_token(metadata['token_endpoint'], token['refresh_token'])
                assert False
            except OAuthError as error:
                assert error.error == 'invalid_client', error
            assert client.revoke_token(metadata['revocation_endpoint'], token['refresh_token']).status_code == 200
            assert orders(token['access_token']) == 401
            print('done')
            """
        )
    }

    @Test("mod_auth_openidc: an API in Apache that introspects its access tokens, in both ways to send a secret")
    func modAuthOpenIDC() throws {
        for method in ["client_secret_basic", "client_secret_post"] {
            let folder = try Servers.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let (apache, front) = (try ApacheBench(in: folder), try TLSFront(in: folder))
            let port = try ServerPorts.take()
            let api = try apache.start(
                [
                    "OIDCOAuthIntrospectionEndpoint https://127.0.0.1:\(front.port)/oauth/introspect",
                    "OIDCOAuthSSLValidateServer Off",
                    "OIDCOAuthIntrospectionEndpointAuth \(method)",
                    "OIDCOAuthClientID server",
                    "OIDCOAuthClientSecret \"\(OAuthScript.secret)\"",
                    // Else an answer counts until the token expires.
                    "OIDCOAuthTokenIntrospectionInterval -1",
                    "Header always set X-Claims \"expr=%{reqenv:OIDC_CLAIM_client_id} %{reqenv:OIDC_CLAIM_scope}\"",
                ],
                requiring: ["aud:https://api.example.com", "iss:http://127.0.0.1:\(port)/"]
            )
            defer { api.stop() }
            let proxy = try front.start(gateway: port, host: "127.0.0.1:\(port)")
            defer { proxy.stop() }
            try self.run(Self.introspected, port: port, ["\(apache.port)"])
        }
    }

    private static let introspected = """
        from authlib.integrations.requests_client import OAuth2Session

        def ask(token):
            fields = {'Authorization': 'Bearer ' + token} if token else {}
            return requests.get('http://127.0.0.1:' + sys.argv[4] + '/', headers=fields)

        def sign_in(audience):
            client = OAuth2Session('app', redirect_uri=callback, code_challenge_method='S256',
                scope='offline_access orders:read', token_endpoint_auth_method='none')
            url, state = client.create_authorization_url(base + '/authorize', code_verifier='v' * 64, audience=audience)
            client.fetch_token(base + '/oauth/token', code_verifier='v' * 64, state=state,
                authorization_response=visit(url))
            return client

        client = sign_in('https://api.example.com')
        token = client.token['access_token']
        answer = ask(token)
        assert answer.status_code == 200 and answer.text == 'the page', (answer.status_code, answer.text)
        assert answer.headers['X-User'].startswith('user-1815'), answer.headers
        assert answer.headers['X-Claims'] == 'app offline_access orders:read', answer.headers
        # Of an API that does not name this one, never issued, and none.
        other = sign_in('https://other.example.com').token['access_token']
        for wrong in [other, token[:-1] + ('A' if token[-1] != 'A' else 'B'), 'x', None]:
            assert ask(wrong).status_code == 401, wrong
        second = client.refresh_token(base + '/oauth/token')['access_token']
        client.revoke_token(base + '/oauth/revoke', token)
        assert ask(token).status_code == 401 and ask(second).status_code == 200
        client.revoke_token(base + '/oauth/revoke', client.token['refresh_token'])
        assert ask(second).status_code == 401
        print('done')
        """

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

    @Test("Authlib and requests-oauthlib mint session-transfer tokens, each good for one sign-in, and go on refreshing")
    func transfer() throws {
        try self.run(
            """
            import os
            os.environ['OAUTHLIB_INSECURE_TRANSPORT'] = '1'
            from authlib.integrations.requests_client import OAuth2Session as Authlib
            from requests_oauthlib import OAuth2Session as OAuthlib
            endpoint, scope = base + '/oauth/token', ['openid', 'offline_access']

            def authlib():
                client = Authlib('app', redirect_uri=callback, code_challenge_method='S256', scope=' '.join(scope),
                    token_endpoint_auth_method='none')
                url, state = client.create_authorization_url(base + '/authorize', code_verifier='v' * 64)
                client.fetch_token(endpoint, code_verifier='v' * 64, state=state, authorization_response=visit(url))
                return client

            def oauthlib():
                client = OAuthlib('app', redirect_uri=callback, scope=scope, pkce='S256',
                    auto_refresh_kwargs={'client_id': 'app'})
                url, state = client.authorization_url(base + '/authorize')
                client.fetch_token(endpoint, authorization_response=visit(url), include_client_id=True)
                return client

            for client in [authlib(), oauthlib()]:
                more = getattr(client, 'auto_refresh_kwargs', {})
                first = client.token['refresh_token']
                minted = client.refresh_token(endpoint, refresh_token=first,
                    audience='urn:' + base.removeprefix('http://') + ':session_transfer', **more)
                assert minted['access_token'].startswith('spt_') and minted['token_type'] == 'N_A', minted
                assert minted['issued_token_type'] == 'urn:auth0:params:oauth:token-type:session_transfer_token', minted
                assert minted['expires_in'] == 60 and minted['refresh_token'] != first and minted['id_token'], minted

                # A browser without cookies, and then another one.
                page = base + '/authorize?' + urllib.parse.urlencode({'client_id': 'server', 'response_type': 'code',
                    'redirect_uri': callback, 'session_transfer_token': minted['access_token']})
                navigation = {'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'none', 'Accept': 'text/html'}
                def way(): return requests.get(page, headers=navigation, allow_redirects=False).headers['Location']
                assert way().startswith(callback + '?code=spc_')
                assert way().startswith('/.sallyport/login?')

                second = client.refresh_token(endpoint, refresh_token=minted['refresh_token'], **more)
                assert second['token_type'] == 'Bearer' and second['access_token'].startswith('spa_'), second
            print('done')
            """
        )
    }

    @Test("auth0-python: pushed requests, which it sends as JSON under the media type of a form")
    func auth0Pushed() throws {
        try self.run(
            """
            from auth0.authentication.exceptions import Auth0Error
            from auth0.authentication.pushed_authorization_requests import PushedAuthorizationRequests
            domain = base.removeprefix('http://')
            client = PushedAuthorizationRequests(domain, 'server', client_secret=sys.argv[2], protocol='http')
            pushed = client.pushed_authorization_request('code', callback, scope='openid', state='s', nonce='n',
                audience='https://api.example.com')
            assert pushed['expires_in'] == 60, pushed
            query = urllib.parse.urlencode({'client_id': 'server', 'request_uri': pushed['request_uri']})
            back = urllib.parse.parse_qs(urllib.parse.urlparse(visit(base + '/authorize?' + query)).query)
            assert back['state'] == ['s'] and back['code'][0].startswith('spc_'), back
            try:
                client.pushed_authorization_request('code', 'https://evil.example/cb')
                assert False
            except Auth0Error as error:
                assert error.error_code == 'invalid_request', error
            # Nowhere else.
            form = {'Content-Type': 'application/x-www-form-urlencoded'}
            answer = requests.post(base + '/oauth/token', data='{"client_id": "app"}', headers=form)
            assert answer.status_code == 400 and answer.json()['error'] == 'invalid_client', answer.text
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
