import Foundation
import GatewayBench
import Testing

/// The React Native app that Kratos's documentation printed for years, with stand-ins for React Native only.
@Suite("The documented app", .blocking) struct DocumentedAppTests {
    /// What React Native, its browser and its store are to the app. `fetch` and the browser reach the gateway, whatever the
    /// name of its host.
    private static let standIns = #"""
        import http from 'node:http';

        const [port, host] = process.argv.slice(2);
        const listeners = [];
        const stored = new Map();
        const states = [];
        let unmount;
        const Linking = {
          addEventListener(type, listener) { listeners.push(listener); return { remove() {} }; },
        };
        const SecureStore = {
          async setItemAsync(name, value) { stored.set(name, value); },
          async getItemAsync(name) { return stored.get(name) ?? null; },
          async deleteItemAsync(name) { stored.delete(name); },
        };
        function useState(value) {
          const state = [value, (next) => { state[0] = next; }];
          states.push(state);
          return state;
        }
        function useEffect(effect) { setImmediate(() => { unmount = effect(); }); }

        function send(method, url, fields = {}, body) {
          const { pathname, search } = new URL(url);
          return new Promise((resolve, reject) => {
            const request = http.request(
              { host: '127.0.0.1', port, method, path: pathname + search, headers: { Host: host, ...fields } },
              (answer) => {
                let text = '';
                answer.on('data', (piece) => { text += piece; });
                answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
              });
            request.on('error', reject);
            request.end(body);
          });
        }
        async function fetch(url, { headers } = {}) {
          const answer = await send('GET', url, headers);
          return {
            ok: answer.status >= 200 && answer.status < 300, status: answer.status,
            async json() { return JSON.parse(answer.text); },
          };
        }
        const InAppBrowser = {
          async open(url) {
            const navigation = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
            let answer = await send('GET', url, navigation);
            while (answer.status === 303) {
              url = answer.headers.location;
              answer = await send('GET', url, navigation);
            }
            const form = new URLSearchParams({ identifier: 'ada@example.com', password: 'analytical-engine' });
            for (const [, name, value] of answer.text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)) {
              form.set(name, value);
            }
            const action = answer.text.match(/action="([^"]+)"/)[1];
            answer = await send('POST', new URL(action, url), {
              'Content-Type': 'application/x-www-form-urlencoded', Origin: `http://${host}`, ...navigation,
            }, form.toString());
            for (const listener of listeners) await listener({ url: answer.headers.location });
          },
          async close() {},
        };

        """#

    /// The app as it was printed, without its imports.
    private static let app = #"""
        const KRATOS_URL = 'https://kratos-public';
        const RETURN_TO_URL = 'myapp://auth/callback';

        function useAuth() {
          const [session, setSession] = useState(null);
          const [loading, setLoading] = useState(false);

          useEffect(() => {
            // Handle deep links
            const subscription = Linking.addEventListener('url', handleDeepLink);
            return () => subscription.remove();
          }, []);

          async function handleDeepLink(event) {
            const { url } = event;
            if (url.startsWith(RETURN_TO_URL)) {
              await InAppBrowser.close();
              const params = new URLSearchParams(url.split('?')[1]);
              const returnToCode = params.get('return_to_code');
              const initCode = await SecureStore.getItemAsync('init_code');
              if (initCode && returnToCode) {
                await exchangeCodesForSession(initCode, returnToCode);
              }
            }
          }

          async function startLogin() {
            setLoading(true);
            try {
              // Initialize login flow
              const response = await fetch(`${KRATOS_URL}/self-service/login/api`, {
                headers: { 'Accept': 'application/json' }
              });
              const flow = await response.json();
              // Store init code
              await SecureStore.setItemAsync('init_code', flow.session_token_exchange_code);
              // Open browser
              const flowUrl = `${flow.ui.action}&return_to=${encodeURIComponent(RETURN_TO_URL)}`;
              await InAppBrowser.open(flowUrl);
            } catch (error) {
              console.error('Login failed:', error);
              setLoading(false);
            }
          }

          async function exchangeCodesForSession(initCode, returnToCode) {
            try {
              const response = await fetch(
                `${KRATOS_URL}/sessions/token-exchange?` +
                `init_code=${encodeURIComponent(initCode)}&` +
                `return_to_code=${encodeURIComponent(returnToCode)}`
              );
              const data = await response.json();
              // Store session token
              await SecureStore.setItemAsync('session_token', data.session_token);
              setSession(data.session);
              setLoading(false);
            } catch (error) {
              console.error('Token exchange failed:', error);
              setLoading(false);
            }
          }

          async function logout() {
            await SecureStore.deleteItemAsync('session_token');
            setSession(null);
          }

          return { session, loading, startLogin, logout };
        }

        """#

    private static let run = #"""
        const { startLogin } = useAuth();
        setImmediate(async () => {
          await startLogin();
          const token = stored.get('session_token');
          const answer = await fetch(`${KRATOS_URL}/sessions/whoami`, { headers: { Authorization: `Bearer ${token}` } });
          const session = await answer.json();
          console.log(states[1][0], session.identity.traits.email, session.id === states[0][0].id);
        });

        """#

    @Test("The printed app signs its user in, unchanged, with compat.exchange: documented")
    func app() throws {
        guard let node = Servers.find(["/usr/bin/node", "/usr/local/bin/node"]) else { try Servers.missing("node") }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        let more = "exchange: {return_to: [\"myapp://auth/callback\"]}\ncompat: {exchange: documented}\n"
        try Gateway.with(Config.file(upstream: upstream.port, more: more)) { gateway throws in
            let folder = try Servers.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "app.mjs")
            try (Self.standIns + Self.app + Self.run).write(to: file, atomically: true, encoding: .utf8)
            let run = try Servers.run(node, [file.path, String(gateway.port), Request.host])
            #expect(run.status == 0 && run.output == "false ada@example.com true\n", "\(run.output)")
        }
    }
}
