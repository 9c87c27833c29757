import Settings
package import SignOn
import Vocabulary

/// `/.well-known/apple-app-site-association` and `/.well-known/assetlinks.json`: the native apps that may receive https
/// callbacks on a host. Apple's document lists the paths of the callbacks, so that no other link opens in the app.
package struct AppLinkEndpoints: Sendable {
    /// The path where iOS looks for the apps.
    package static let applePath = "/.well-known/apple-app-site-association"
    /// The path where Android looks for the apps.
    package static let androidPath = "/.well-known/assetlinks.json"

    private let clients: ClientRegistry

    package init(_ clients: ClientRegistry) {
        self.clients = clients
    }

    package var endpoints: [Endpoint] {
        [
            Self.endpoint(Self.applePath) { Self.apple(self.clients.snapshot.callbacks(on: $0)) },
            Self.endpoint(Self.androidPath) { Self.android(self.clients.snapshot.callbacks(on: $0)) },
        ]
    }

    private static func endpoint(_ path: String, _ document: @escaping @Sendable (String) -> JSONValue) -> Endpoint {
        Endpoint(path: path, methods: ["GET", "HEAD"], scope: .appLinkHosts, bodyLimit: 0) { request in
            EndpointResponse(
                status: 200,
                fields: [
                    ("content-type", "application/json"), ("cache-control", "public, max-age=3600"),
                    ("x-content-type-options", "nosniff"),
                ],
                body: JSONText.encode(document(request.origin))
            )
        }
    }

    /// Returns Apple's document. `applinks` opens callbacks in the app. `ASWebAuthenticationSession` requires
    /// `webcredentials` for https callbacks.
    private static func apple(_ clients: [(client: ClientSettings, paths: [String])]) -> JSONValue {
        let clients = clients.filter { !$0.client.iosAppIDs.isEmpty }
        let details = clients.map { client, paths -> JSONValue in
            [
                "appIDs": .array(client.iosAppIDs.map { .string($0) }),
                "components": .array(paths.map { ["/": .string($0)] }),
            ]
        }
        let apps = Set(clients.flatMap(\.client.iosAppIDs)).sorted()
        return [
            "applinks": ["details": .array(details)],
            "webcredentials": ["apps": .array(apps.map { .string($0) })],
        ]
    }

    private static func android(_ clients: [(client: ClientSettings, paths: [String])]) -> JSONValue {
        .array(
            clients.flatMap(\.client.androidApps).map { app in
                [
                    "relation": ["delegate_permission/common.handle_all_urls"],
                    "target": [
                        "namespace": "android_app",
                        "package_name": .string(app.packageName),
                        "sha256_cert_fingerprints": .array(app.fingerprints.map { .string($0) }),
                    ],
                ]
            }
        )
    }
}
