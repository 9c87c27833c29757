import Foundation
import TestSupport
import Testing

/// `deploy/examples`: the app's side of the handoff, checked as far as a machine without the kits of the phones can.
@Suite struct ExampleTests {
    private static let folder = "deploy/examples"
    static let hasNode = (try? PackageFiles.run(["node", "--version"])) != nil

    /// `deploy/test.sh` builds and tests the package; what needs UIKit and WebKit is only parsed here.
    @Test(arguments: ["SystemBrowser", "TokenStore", "WebAppViewController"]) func swift(file: String) throws {
        let path = "\(Self.folder)/ios/Sources/NativeApp/\(file).swift"
        let verdict = try #require(try PackageFiles.run(["swiftc", "-parse", "-swift-version", "6", path]))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// The part without React Native runs: what it sends, what it keeps, and how it tells failures apart.
    @Test(.enabled(if: hasNode, "node is not installed")) func reactNativeRuns() throws {
        let program = """
            import {AppSession} from './\(Self.folder)/react-native/AppSession.mjs';
            import {announcement, challengedTarget, isPageOf, makeTries, pageWithToken}
              from './\(Self.folder)/react-native/webApp.mjs';
            import assert from 'node:assert';
            const origin = 'https://app.example.com';
            let kept = {refreshToken: 'R1'}, sent = [], asked = [], status = 200, error = null;
            const store = {load: async () => kept, save: async next => (kept = next), delete: async () => (kept = null)};
            globalThis.fetch = async (url, options) => {
              if (url.includes('/sessions')) {
                asked.push([options.method, url, options.headers.Authorization]);
                return {status: url.endsWith('/sessions') ? 200 : 204, text: async () => '[{"id":"S1"}]'};
              }
              sent.push({url, body: JSON.parse(options.body)});
              if (error) throw error;
              const next = sent.length + 1;
              const body = status === 200
                ? {access_token: `T${next}`, refresh_token: `R${next}`, expires_in: 60} : {error: 'invalid_grant'};
              return {status, headers: new Headers({'Retry-After': '7'}), text: async () => JSON.stringify(body)};
            };
            const session = new AppSession({origin: `${origin}:8443`, clientID: 'ios'}, store);
            assert.deepEqual(await Promise.all([1, 2, 3].map(() => session.accessToken())), ['T2', 'T2', 'T2']);
            assert.deepEqual(await Promise.all([1, 2].map(() => session.transferToken())), ['T3', 'T4']);
            assert.deepEqual(sent.map(({body}) => body.refresh_token), ['R1', 'R2', 'R3']);
            assert.deepEqual(sent[1], {url: `${origin}:8443/oauth/token`, body: {client_id: 'ios',
              grant_type: 'refresh_token', refresh_token: 'R2', audience: 'urn:app.example.com:session_transfer'}});
            assert.deepEqual(kept, {refreshToken: 'R4'});
            const others = await session.otherSessions();
            assert.deepEqual(others, [{id: 'S1'}]);
            await session.endSession(others[0]);
            await session.endOtherSessions();
            const list = `${origin}:8443/sessions`;
            assert.deepEqual(asked, [['GET', list, 'Bearer T2'], ['DELETE', `${list}/S1`, 'Bearer T2'],
              ['DELETE', list, 'Bearer T2']]);
            status = 503;
            await assert.rejects(session.transferToken(), {kind: 'unavailable', after: 7});
            error = new TypeError('no network');
            await assert.rejects(session.transferToken(), {kind: 'unavailable'});
            assert.deepEqual(kept, {refreshToken: 'R4'});
            [error, status] = [null, 400];
            await assert.rejects(session.transferToken(), {kind: 'signedOut'});
            assert.equal(kept, null);
            const message = (change = {}) =>
              JSON.stringify({type: 'session_transfer', realm: origin, return_to: '/a?b=1', ...change});
            assert.equal(challengedTarget(message(), origin), '/a?b=1');
            for (const change of [{type: 'x'}, {realm: 'https://evil.example'}, {return_to: '//evil.example'},
              {return_to: 'https://evil.example'}, {return_to: 1}]) {
              assert.equal(challengedTarget(message(change), origin), null);
            }
            assert.equal(challengedTarget('no JSON', origin), null);
            assert(isPageOf(origin, `${origin}/a`) && !isPageOf(origin, `${origin}.evil.example/`));
            assert.equal(pageWithToken(origin, '/a?b=1#c', 'T+'), `${origin}/a?b=1&session_transfer_token=T%2B#c`);
            assert(announcement(origin).includes('__Host-sallyport-native=1; Path=/; Secure'));
            const mayTry = makeTries();
            assert.deepEqual([1, 2, 3, 4, 70_000].map(mayTry), [true, true, true, false, true]);
            """
        let verdict = try #require(try PackageFiles.run(["node", "--input-type=module", "--eval", program]))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// The Kotlin compiler is there only for `deploy/test.sh --soak`: this finds no more than a bracket that is missing.
    @Test func kotlinIsBalanced() throws {
        let base = PackageFiles.root.appending(path: "\(Self.folder)/android/src/main/kotlin/com/example/app")
        let files = try FileManager.default.contentsOfDirectory(at: base, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for text in try files.map({ try String(contentsOf: $0, encoding: .utf8) }) + [Self.guide("kotlin")] {
            let code = text.replacing(/(?s)\/\*.*?\*\//, with: "").replacing(/"[^"\n]*"/, with: "")
                .replacing(/'.'/, with: "").replacing(/\/\/[^\n]*\n/, with: "\n")
            var open: [Character] = []
            for character in code {
                switch character {
                case "(", "[", "{": open.append(character)
                case ")": #expect(open.popLast() == "(")
                case "]": #expect(open.popLast() == "[")
                case "}": #expect(open.popLast() == "{")
                default: break
                }
            }
            #expect(open.isEmpty && !code.contains("\""))
        }
    }

    /// The app in 20 lines of the guide.
    private static func guide(_ language: String) throws -> String {
        try #require(try Documents.guide("FromNativeToWeb").blocks(language).first { $0.contains(" open(") })
    }

    /// The guide's Swift compiles with a WebView that has the few members of WebKit's that it uses.
    @Test func swiftOfTheGuide() throws {
        let kit = """
            import Foundation
            #if canImport(FoundationNetworking)
            import FoundationNetworking
            #endif
            @MainActor final class Cookies { func setCookie(_ cookie: HTTPCookie) async {} }
            @MainActor final class DataStore { let httpCookieStore = Cookies() }
            @MainActor final class Configuration { let websiteDataStore = DataStore() }
            @MainActor final class WKWebView {
                let configuration = Configuration()
                func load(_ request: URLRequest) {}
            }

            """
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID()).swift")
        defer { try? FileManager.default.removeItem(at: file) }
        try (kit + Self.guide("swift")).write(to: file, atomically: true, encoding: .utf8)
        let arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", file.path]
        let verdict = try #require(try PackageFiles.run(arguments))
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    /// All say the same names as the gateway.
    @Test func examplesUseTheNamesOfTheGateway() throws {
        for app in ["ios/Sources", "android/src", "react-native"] {
            let base = PackageFiles.root.appending(path: "\(Self.folder)/\(app)").path
            let files = FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? []
            let text = try files.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".kt") || $0.hasSuffix(".mjs") }
                .map { try PackageFiles.text("\(Self.folder)/\(app)/\($0)") }.joined()
            for name in [
                "__Host-sallyport-native", "session_transfer_token", "session_transfer\"", "return_to",
                "/.sallyport/login",
                "/oauth/token", "/oauth/revoke", "/oidc/logout", ":session_transfer", "/self-service/login/api",
                "/sessions/token-exchange", "/self-service/logout/api", "redirect_browser_to", "issued_at",
            ] { #expect(text.replacing("'", with: "\"").contains(name), "\(app): \(name)") }
        }
    }
}
