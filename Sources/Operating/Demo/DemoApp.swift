import Calls
import Endpoints
import Providers
package import RequestPath
import Settings
import Transport

/// The app behind the demo's gateway. It has no sign-in, and shows the request that it received. The buttons on its
/// pages act as a native app.
package enum DemoApp {
    /// Starts the app on a free port of the loopback address.
    package static func start(at place: DemoPlace) async throws -> EndpointServer {
        let group = try TransportGroup(count: 1)
        let client = CallClient(group: group)
        let native = DemoNativeApp(gateway: place.inside, host: place.insideHost, transport: try client.transport())
        let waiting = DemoWaitingSignIns()
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        let app = Endpoint(path: "/**", methods: methods, bodyLimit: 1 << 20, isApp: true) { request in
            // After a sign-out, the gateway redirects the browser to this path with GET.
            if ["GET", "POST"].contains(request.method), request.path == DemoPage.nativePath {
                return await self.opened(by: native, request)
            }
            if request.method == "GET", request.path == DemoPage.signInPath {
                return self.signIn(to: native, waiting, at: place, request)
            }
            if request.method == "GET", request.path == DemoPlace.returnPath {
                return await self.signedIn(to: native, waiting, at: place, request)
            }
            let wantsPage = request.field("accept")?.lowercased().utf8.contains("text/html".utf8) ?? false
            return wantsPage ? DemoPage.answer(request) : self.text(request)
        }
        let listener = ListenerSettings(ListenAddress(host: "127.0.0.1", port: 0))
        return try await EndpointServer.start(listener, setting: "the demo's app", on: group.loops[0], [app])
    }

    /// Redirects the browser as the native app would open it, for the user in the query.
    private static func opened(by native: DemoNativeApp, _ request: EndpointRequest) async -> EndpointResponse {
        let wished = request.parameters(DemoPage.user).first
        let user = DemoUser.all.first { $0.id == wished } ?? DemoUser.all[0]
        do {
            let token = try await native.transferToken(for: user)
            return .seeOther("/hello?\(DemoPage.isFromNative)&session_transfer_token=\(token)")
        } catch {
            return .text(502, "The native app got no transfer token: \(error)\n")
        }
    }

    /// The native app's redirect URI on the request's host; `nil` if an app cannot use this host.
    private static func returnURL(_ request: EndpointRequest, at place: DemoPlace) -> String? {
        let host = request.field("host") ?? ""
        return place.appReturns.first { $0.hasSuffix("//\(host)\(DemoPlace.returnPath)") }
    }

    /// Begins the native app's sign-in: redirects the browser to the gateway's `/authorize`.
    private static func signIn(
        to native: DemoNativeApp,
        _ waiting: DemoWaitingSignIns,
        at place: DemoPlace,
        _ request: EndpointRequest
    ) -> EndpointResponse {
        guard let url = self.returnURL(request, at: place) else {
            let sentence = "Browsers return to apps only with https, on this machine, or with an app's own scheme"
            return .text(400, "\(sentence), and not with http to \(request.field("host") ?? "").\n")
        }
        let begun = native.beginInBrowser(returningTo: url)
        waiting.keep(begun.verifier, of: begun.state)
        let reach = "Path=\(DemoPage.nativePath); HttpOnly; SameSite=Lax"
        let cookie = "\(DemoWaitingSignIns.cookie)=\(begun.state); \(reach)"
        return .seeOther(begun.path, fields: [("set-cookie", cookie)])
    }

    /// Completes the native app's sign-in: redeems the code, calls the API, and shows what the API received.
    private static func signedIn(
        to native: DemoNativeApp,
        _ waiting: DemoWaitingSignIns,
        at place: DemoPlace,
        _ request: EndpointRequest
    ) async -> EndpointResponse {
        guard let url = self.returnURL(request, at: place), let verifier = waiting.take(for: request),
            let code = request.parameters("code").first
        else {
            return .text(
                400,
                "No sign-in of the native app is waiting in this browser. Begin at \(DemoPage.signInPath).\n"
            )
        }
        do {
            let token = try await native.accessToken(code: code, verifier: verifier, returnedTo: url)
            return DemoPage.signedIn(try await native.order(with: token))
        } catch {
            return .text(502, "The native app got no tokens: \(error)\n")
        }
    }

    /// Returns the request as text: its first line and its header fields.
    private static func text(_ request: EndpointRequest) -> EndpointResponse {
        let body = request.body.isEmpty ? "" : "\n(a body of \(request.body.count) bytes)\n"
        return .text(200, "\(request.head ?? "")\n\(body)")
    }
}
