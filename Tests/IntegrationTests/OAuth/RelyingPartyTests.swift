import GatewayBench
import Testing

/// Signs users in to relying parties that nobody here wrote, unmodified, through the sign-in form of the binary: idpyoidc's,
/// Authlib's and auth0-python's; and in the request shapes of
/// express-openid-connect, which needs Node.js.
@Suite("Relying parties", .blocking, .enabled(if: OryClient.python != nil, "the clients are not installed"))
struct RelyingPartyTests {
    /// A browser that types the password where a form asks for it.
    private static let browser = """
        import html, re, sys, urllib.parse, requests
        base, secret = sys.argv[1:3]
        callback, bye = 'http://127.0.0.1:1/callback', 'http://127.0.0.1:1/bye'
        metadata = requests.get(base + '/.well-known/openid-configuration').json()

        class Browser(requests.Session):
            typed = 0

            def walk(self, url):
                "Follows redirects and posts forms; returns where the browser leaves the gateway, and the form that it posts there."
                page = {'Accept': 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document',
                    'Sec-Fetch-Site': 'cross-site'}
                answer = self.get(url, headers=page, allow_redirects=False)
                for _ in range(10):
                    if 'Location' in answer.headers:
                        url = urllib.parse.urljoin(answer.url, answer.headers['Location'])
                        if not url.startswith(base + '/'): return url, {}
                        answer = self.get(url, headers=page, allow_redirects=False)
                        continue
                    assert answer.status_code == 200, answer.text
                    action = html.unescape(re.search('<form method="post" action="([^"]*)"', answer.text).group(1))
                    url = urllib.parse.urljoin(answer.url, action)
                    hidden = re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)"', answer.text)
                    form = {name: html.unescape(value) for name, value in hidden}
                    if not url.startswith(base + '/'): return url, form
                    if 'type="password"' in answer.text:
                        form.update(identifier='ada@example.com', password='analytical-engine')
                        self.typed += 1
                    own = dict(page, Origin=base, **{'Sec-Fetch-Site': 'same-origin'})
                    answer = self.post(url, form, headers=own, allow_redirects=False)
                assert False, 'in circles: ' + url

        browser = Browser()

        def query(url): return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(url).query))

        def is_signed_in(): return browser.get(base + '/.sallyport/session').status_code == 200

        """

    private func run(_ script: String, clients: String = "", _ arguments: [String] = []) throws {
        try OAuthScript.run(Self.browser + script, clients: clients, arguments)
    }

    @Test("idpyoidc: discovery, code with PKCE and nonce, id_token, userinfo, refresh, and logout with its hint")
    func idpyoidc() throws {
        try #require(IDPyOIDC.python != nil)
        try self.run(
            """
            import logging
            logging.disable(logging.CRITICAL)
            from cryptojwt.key_jar import build_keyjar
            from idpyoidc.client.defaults import DEFAULT_OIDC_SERVICES
            from idpyoidc.client.rp_handler import RPHandler
            services = dict(DEFAULT_OIDC_SERVICES,
                end_session={'class': 'idpyoidc.client.oidc.end_session.EndSession'})
            keys = build_keyjar([{'type': 'RSA', 'use': ['sig']}])
            handler = RPHandler(base_url='http://127.0.0.1:1', keyjar=keys, services=services, client_configs={
                'gateway': {
                    'issuer': base + '/', 'client_id': 'server', 'client_secret': secret, 'client_type': 'oidc',
                    'redirect_uris': [callback], 'post_logout_redirect_uris': [bye], 'response_types': ['code'],
                    'token_endpoint_auth_method': 'client_secret_basic',
                    'client_authn_methods': ['client_secret_basic', 'bearer_header'],
                    'add_ons': {'pkce': {'function': 'idpyoidc.client.oauth2.add_on.pkce.add_support',
                        'kwargs': {'code_challenge_length': 64, 'code_challenge_method': 'S256'}}},
                },
            })
            scope = {'scope': ['openid', 'profile', 'email', 'offline_access']}
            url = handler.begin('gateway', req_args=scope)
            assert {'nonce', 'code_challenge', 'state'} <= query(url).keys(), url
            target, _ = browser.walk(url)
            assert target.startswith(callback) and browser.typed == 1, target
            result = handler.finalize(base + '/', query(target))
            assert result['userinfo']['email'] == 'ada@example.com', result
            assert result['id_token']['sub'] == 'user-1815' and result['id_token']['iss'] == base + '/'
            client = handler.issuer2rp[base + '/']
            assert client.refresh_access_token(result['state'])['access_token'] != result['token']
            # Without the prompt the second sign-in asks for nothing.
            assert browser.walk(handler.begin('gateway'))[0].startswith(callback) and browser.typed == 1

            request = client.logout(result['state'], post_logout_redirect_uri=bye)
            assert 'id_token_hint' in request['url'] or 'id_token_hint' in request.get('body', ''), request
            target, _ = browser.walk(request['url'])
            assert target.startswith(bye + '?state=') and not is_signed_in(), target
            print('done')
            """
        )
    }

    @Test("Authlib's OpenID client for Django: metadata, PKCE, nonce, id_token, and prompt=none after the logout")
    func authlib() throws {
        try self.run(
            """
            import django
            from django.conf import settings
            settings.configure(SECRET_KEY='x', CACHES={})
            django.setup()
            from django.test import RequestFactory
            from authlib.integrations.django_client import OAuth
            from authlib.integrations.base_client import OAuthError
            oauth = OAuth()
            oauth.register('gateway', server_metadata_url=base + '/.well-known/openid-configuration', client_id='server',
                client_secret=secret, client_kwargs={'scope': 'openid profile email', 'code_challenge_method': 'S256'})

            def sign_in(**parameters):
                request = RequestFactory().get('/login')
                request.session = {}
                target, _ = browser.walk(oauth.gateway.authorize_redirect(request, callback, **parameters)['Location'])
                assert target.startswith(callback), target
                back = RequestFactory().get('/callback', query(target))
                back.session = request.session
                return oauth.gateway.authorize_access_token(back)

            token = sign_in()
            assert browser.typed == 1 and token['userinfo']['email'] == 'ada@example.com', token
            assert token['userinfo']['nonce'] and token['userinfo']['aud'] in ('server', ['server'])
            assert oauth.gateway.userinfo(token=token)['sub'] == 'user-1815'
            assert sign_in(prompt='none')['userinfo']['sub'] == 'user-1815' and browser.typed == 1
            assert sign_in(prompt='login')['userinfo']['sub'] == 'user-1815' and browser.typed == 2

            target, _ = browser.walk(metadata['end_session_endpoint'] + '?' + urllib.parse.urlencode({
                'id_token_hint': token['id_token'], 'post_logout_redirect_uri': bye, 'state': 'a b'}))
            assert target.startswith(bye) and query(target) == {'state': 'a b'} and not is_signed_in(), target
            try:
                sign_in(prompt='none')
                assert False
            except OAuthError as error:
                assert error.error == 'login_required', error
            print('done')
            """
        )
    }

    @Test("Authlib and joserfc: a sign-out sends a logout token, which a client verifies, with the sid of the id_token")
    func logoutToken() throws {
        let port = try ServerPorts.take()
        let shop = """
              - client_id: shop
                callbacks: ["http://127.0.0.1/callback"]
                backchannel_logout_uri: http://127.0.0.1:\(port)/logout?tenant=1
            """
        try self.run(
            """
            import http.server, queue, threading
            from authlib.integrations.requests_client import OAuth2Session
            from joserfc import jwt
            from joserfc.jwk import KeySet
            received = queue.Queue()
            class Endpoint(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    body = self.rfile.read(int(self.headers['Content-Length'])).decode()
                    received.put((self.path, self.headers['Content-Type'], dict(urllib.parse.parse_qsl(body))))
                    self.send_response(204)
                    self.end_headers()
                def log_message(self, *arguments): pass
            server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[4])), Endpoint)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            assert metadata['backchannel_logout_supported'] and metadata['backchannel_logout_session_supported']

            client = OAuth2Session('shop', redirect_uri=callback, code_challenge_method='S256',
                scope='openid offline_access', token_endpoint_auth_method='none')
            url, state = client.create_authorization_url(metadata['authorization_endpoint'], code_verifier='v' * 64,
                nonce='n')
            token = client.fetch_token(metadata['token_endpoint'], code_verifier='v' * 64, state=state,
                authorization_response=browser.walk(url)[0])
            keys = KeySet.import_key_set(requests.get(metadata['jwks_uri']).json())
            session = jwt.decode(token['id_token'], keys, algorithms=['RS256']).claims

            answer = browser.post(base + '/.sallyport/logout', {'return_to': '/'}, headers={'Origin': base},
                allow_redirects=False)
            assert answer.status_code == 303 and not is_signed_in(), answer.text
            # The sign-out has waited for it.
            path, kind, form = received.get(timeout=10)
            assert path == '/logout?tenant=1' and kind == 'application/x-www-form-urlencoded', path
            logout = jwt.decode(form['logout_token'], keys, algorithms=['RS256'])
            assert logout.header['typ'] == 'logout+jwt' and logout.header['kid'], logout.header
            claims = logout.claims
            required = {'essential': True}
            jwt.JWTClaimsRegistry(iss={'essential': True, 'value': metadata['issuer']},
                aud={'essential': True, 'value': 'shop'}, exp=required, iat=required, jti=required).validate(claims)
            assert claims['exp'] - claims['iat'] == 120 and 'nonce' not in claims, claims
            assert claims['sub'] == session['sub'] and claims['sid'] == session['sid'], claims
            assert claims['events'] == {'http://schemas.openid.net/event/backchannel-logout': {}}, claims
            assert client.refresh_token(metadata['token_endpoint'])['access_token'] and received.empty()
            print('done')
            """,
            clients: shop,
            [String(port)]
        )
    }

    @Test("auth0-python: a pushed request, whose reference signs in once")
    func pushed() throws {
        try self.run(
            """
            from auth0.authentication import GetToken
            domain = base.removeprefix('http://')
            assert metadata['pushed_authorization_request_endpoint'] == base + '/oauth/par'
            client = GetToken(domain, 'server', secret, protocol='http')
            # Its own method for this names a form as the type of its JSON.
            pushed = client.authenticated_post(base + '/oauth/par', data={'client_id': 'server', 'response_type': 'code',
                'redirect_uri': callback, 'scope': 'openid email', 'state': 's', 'nonce': 'n', 'organization': None})
            assert pushed['expires_in'] == 60, pushed
            url = metadata['authorization_endpoint'] + '?' + urllib.parse.urlencode({
                'client_id': 'server', 'request_uri': pushed['request_uri'], 'auth0Client': 'eyJ', 'state': 'other'})
            target, _ = browser.walk(url)
            assert browser.typed == 1 and query(target)['state'] == 's', target
            token = client.authorization_code(query(target)['code'], callback)
            assert token['id_token'] and token['scope'] == 'openid email', token
            again = browser.get(url, headers={'Accept': 'text/html'}, allow_redirects=False)
            assert again.status_code == 400 and 'oauth.request_unknown' in again.text, again.text
            print('done')
            """
        )
    }

    @Test("express-openid-connect's shapes: an id_token by form_post, and both of its logouts")
    func express() throws {
        try self.run(
            """
            import jwt
            parameters = {'client_id': 'express', 'scope': 'openid profile email', 'response_type': 'id_token',
                'redirect_uri': callback, 'response_mode': 'form_post', 'nonce': 'a-nonce',
                'state': 'eyJyZXR1cm5UbyI6Ii8ifQ'}
            def authorize(**change):
                return browser.walk(metadata['authorization_endpoint'] + '?' + urllib.parse.urlencode(parameters | change))
            target, form = authorize()
            assert target == callback and browser.typed == 1 and form['state'] == parameters['state'], form
            key = jwt.PyJWKClient(metadata['jwks_uri']).get_signing_key_from_jwt(form['id_token'])
            claims = jwt.decode(form['id_token'], key, ['RS256'], audience='express', issuer=metadata['issuer'])
            assert claims['nonce'] == 'a-nonce' and claims['email'] == 'ada@example.com', claims
            _, silent = authorize(prompt='none')
            assert silent['id_token'] and browser.typed == 1
            _, fresh = authorize(max_age='0', acr_values='urn:x aal1', organization='org_1', screen_hint='signup')
            assert fresh['id_token'] and browser.typed == 2
            _, unmet = authorize(acr_values='urn:x')
            assert unmet['error'] == 'unmet_authentication_requirements' and browser.typed == 2, unmet

            # idpLogout with the id_token as hint; then Auth0's, which asks as it has none.
            target, _ = browser.walk(metadata['end_session_endpoint'] + '?' + urllib.parse.urlencode(
                {'post_logout_redirect_uri': bye, 'id_token_hint': form['id_token']}))
            assert target == bye and not is_signed_in()
            _, refused = authorize(prompt='none')
            assert refused['error'] == 'login_required' and refused['state'] == parameters['state'], refused
            authorize()
            assert is_signed_in()
            logout = base + '/v2/logout?' + urllib.parse.urlencode({'returnTo': bye, 'client_id': 'express'})
            page = browser.get(logout, headers={'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate'})
            assert page.status_code == 200 and is_signed_in(), page.text
            assert browser.walk(logout)[0] == bye and not is_signed_in()
            print('done')
            """
        )
    }

    @Test("a session-transfer token of a native app in the cookie signs in to a relying party without a form, once")
    func transfer() throws {
        try self.run(
            """
            import base64, hashlib
            verifier = 'v' * 64
            challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b'=').decode()
            app, web = Browser(), browser
            target, _ = app.walk(base + '/authorize?' + urllib.parse.urlencode({'client_id': 'app', 'response_type': 'code',
                'redirect_uri': callback, 'scope': 'offline_access', 'code_challenge': challenge,
                'code_challenge_method': 'S256'}))
            native = requests.post(base + '/oauth/token', {'grant_type': 'authorization_code', 'client_id': 'app',
                'code': query(target)['code'], 'redirect_uri': callback, 'code_verifier': verifier}).json()
            minted = requests.post(base + '/oauth/token', {'grant_type': 'refresh_token', 'client_id': 'app',
                'refresh_token': native['refresh_token'],
                'audience': 'urn:' + base.removeprefix('http://') + ':session_transfer'}).json()
            web.cookies.set('auth0_session_transfer_token', minted['access_token'], domain='127.0.0.1')
            url = base + '/authorize?' + urllib.parse.urlencode({'client_id': 'server', 'response_type': 'code',
                'redirect_uri': callback, 'scope': 'openid', 'state': 's', 'nonce': 'n', 'code_challenge': challenge,
                'code_challenge_method': 'S256'})
            target, _ = web.walk(url)
            assert target.startswith(callback) and web.typed == 0, target
            assert 'auth0_session_transfer_token' not in web.cookies and not is_signed_in(), web.cookies
            assert web.walk(url)[0].startswith(callback) and web.typed == 1
            print('done')
            """
        )
    }
}
