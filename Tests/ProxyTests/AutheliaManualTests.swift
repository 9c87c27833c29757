import Foundation
import GatewayBench
import Testing

/// What Authelia's manual says: its portal is a host of its own, and on the hosts of apps proxies send it checks only, all
/// to one address. The sign-in of another host then goes through answers to checks.
@Suite("Configurations that were made for Authelia, with its portal", .blocking)
struct AutheliaManualTests {
    private static let portal = "http://auth.example.com"

    private static func traefik(_ places: ProxyPlaces) -> String {
        """
        http:
          middlewares:
            authelia:
              forwardAuth:
                address: 'http://127.0.0.1:\(places.checks)/api/authz/forward-auth'
                trustForwardHeader: true
                maxResponseBodySize: 8192
                authResponseHeaders:
                  - 'Remote-User'
                  - 'Remote-Groups'
                  - 'Remote-Email'
                  - 'Remote-Name'
          routers:
            nextcloud:
              rule: 'Host(`app.example.com`)'
              service: 'nextcloud'
              middlewares:
                - 'authelia@file'
            authelia:
              rule: 'Host(`auth.example.com`)'
              service: 'authelia@file'
          services:
            nextcloud: {loadBalancer: {servers: [{url: 'http://127.0.0.1:\(places.app)'}]}}
            authelia: {loadBalancer: {servers: [{url: 'http://127.0.0.1:\(places.checks)'}]}}

        """
    }

    private static func caddy(_ places: ProxyPlaces) -> String {
        """
        http://auth.example.com {
                reverse_proxy 127.0.0.1:\(places.checks)
        }

        http://app.example.com {
                forward_auth 127.0.0.1:\(places.checks) {
                        uri /api/authz/forward-auth
                        copy_headers Remote-User Remote-Groups Remote-Email Remote-Name
                }

                reverse_proxy 127.0.0.1:\(places.app)
        }
        """
    }

    private static func cluster(_ name: String, _ port: Int) -> String {
        """
            - name: '\(name)'
              connect_timeout: '0.25s'
              type: 'static'
              lb_policy: 'round_robin'
              load_assignment:
                cluster_name: '\(name)'
                endpoints:
                  - lb_endpoints:
                      - endpoint:
                          address:
                            socket_address:
                              address: '127.0.0.1'
                              port_value: \(port)

        """
    }

    private static func envoy(_ places: ProxyPlaces) -> String {
        """
        static_resources:
          listeners:
            - name: 'listener_https'
              address: {socket_address: {address: 0.0.0.0, port_value: 80}}
              filter_chains:
                - filters:
                    - name: 'envoy.filters.network.http_connection_manager'
                      typed_config:
                        "@type": 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
                        stat_prefix: 'ingress_http'
                        use_remote_address: true
                        skip_xff_append: false
                        route_config:
                          name: 'local_route'
                          virtual_hosts:
                            - name: 'whoami_service'
                              domains: ['app.example.com']
                              routes:
                                - match:
                                    prefix: '/'
                                  route:
                                    cluster: 'nextcloud'
                            - name: 'authelia_service'
                              domains: ['auth.example.com']
                              typed_per_filter_config:
                                envoy.filters.http.ext_authz:
                                  "@type": 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute'
                                  disabled: true
                              routes:
                                - match:
                                    prefix: '/'
                                  route:
                                    cluster: 'authelia'
                        http_filters:
                          - name: 'envoy.filters.http.ext_authz'
                            typed_config:
                              "@type": 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz'
                              transport_api_version: 'v3'
                              allowed_headers:
                                patterns:
                                  - exact: 'authorization'
                                  - exact: 'proxy-authorization'
                                  - exact: 'accept'
                                  - exact: 'cookie'
                                  - exact: 'location'
                              http_service:
                                path_prefix: '/api/authz/ext-authz/'
                                server_uri:
                                  uri: 'authelia:9091'
                                  cluster: 'authelia'
                                  timeout: '0.25s'
                                authorization_request:
                                  headers_to_add:
                                    - key: 'X-Forwarded-Proto'
                                      value: '%REQ(:SCHEME)%'
                                authorization_response:
                                  allowed_upstream_headers:
                                    patterns:
                                      - prefix: 'remote-'
                                      - prefix: 'authelia-'
                                  allowed_client_headers:
                                    patterns:
                                      - exact: 'set-cookie'
                                  allowed_client_headers_on_success:
                                    patterns:
                                      - exact: 'set-cookie'
                              failure_mode_allow: false
                          - name: 'envoy.filters.http.router'
                            typed_config:
                              "@type": 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'
          clusters:

        """ + self.cluster("nextcloud", places.app) + self.cluster("authelia", places.checks)
    }

    @Test(
        "A user signs in at the portal for an app whose proxy sends nothing but checks",
        arguments: [Proxy.traefik, .caddy, .oldCaddy, .envoy]
    )
    func signIn(_ proxy: Proxy) throws {
        let written: (ProxyPlaces) -> String = { places in
            switch proxy {
            case .traefik: Self.traefik(places)
            case .envoy: Self.envoy(places)
            default: Self.caddy(places)
            }
        }
        try ProxyBench.with(proxy, signIn: Self.portal, more: "identity: {preset: authelia}", written: written) {
            bench in
            var jars: [String: [String: String]] = [:]
            /// A request of a browser that keeps cookies by host.
            func visit(_ url: String, _ request: (String, [String]) -> String = { Kind.navigation.request($0, $1) })
                throws
                -> Answer
            {
                let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
                let host = parts[2]
                let jar = (jars[host] ?? [:]).map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
                let text = request("/" + (parts.count > 3 ? parts[3] : ""), jar.isEmpty ? [] : ["Cookie: \(jar)"])
                let answer = try bench.connect().request(
                    text.replacing("Host: \(Request.host)\r\n", with: "Host: \(host)\r\n")
                )
                for line in answer.values("set-cookie") {
                    let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
                    jars[host, default: [:]][pair[0]] = line.contains("Max-Age=0") ? nil : pair.last
                }
                return answer
            }
            /// Follows redirects until a page comes.
            func follow(_ url: String) throws -> (url: String, answer: Answer) {
                var url = url
                for _ in 0..<10 {
                    let answer = try visit(url)
                    guard (300..<400).contains(answer.status), let location = answer.value("location") else {
                        return (url, answer)
                    }
                    let origin = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)[..<3]
                    url = location.hasPrefix("/") ? origin.joined(separator: "/") + location : location
                }
                throw BenchFailure("redirects without an end, at \(url)")
            }
            let asked = try follow("\(Request.origin)/page?x=1")
            #expect(asked.url.hasPrefix("\(Self.portal)/.sallyport/login?"), "\(asked.url) \(asked.answer.lines)")
            #expect(asked.answer.status == 200 && asked.answer.text.contains("password"), "\(asked.answer.lines)")
            let hidden = try #require(
                asked.answer.text.firstMatch(of: /name="return_to" value="([^"]+)"/),
                "\(asked.answer.text)"
            ).1.replacing("&amp;", with: "&")
            var allowed = CharacterSet.alphanumerics
            allowed.insert(charactersIn: "-_.~")
            let back = hidden.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
            let signedIn = try visit("\(Self.portal)/.sallyport/login") { target, fields in
                Request.post(
                    target,
                    fields + ["Origin: \(Self.portal)", "Content-Type: application/x-www-form-urlencoded"],
                    body: "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=\(back)"
                )
            }
            #expect(signedIn.status == 303, "\(signedIn.lines) \(signedIn.text)")
            let onward = try #require(signedIn.value("location"))
            let shown = try follow(onward.hasPrefix("/") ? Self.portal + onward : onward)
            #expect(shown.url == "\(Request.origin)/page?x=1" && shown.answer.status == 200, "\(shown)")
            let got = try #require(bench.app.requests.last)
            #expect(got.values("remote-user") == ["ada"] && got.target == "/page?x=1", "\(got.lines)")
            // The pages of the gateway take the place of the app's by GET only, and the app never sees such a path.
            let count = bench.app.requests.count
            let session = try visit("\(Request.origin)/.sallyport/session")
            #expect(session.status == 403 && session.text.contains("\"id\""), "\(session.lines) \(session.text)")
            let form = try visit("\(Request.origin)/.sallyport/logout") { Kind.post.request($0, $1) }
            #expect(form.status >= 400, "\(form.lines)")
            #expect(bench.app.requests.count == count)
            // Envoy does not pass on, as that manual configures it, by what a form is known to come from the app itself.
            let posted = try visit("\(Request.origin)/page") { Kind.post.request($0, $1) }
            #expect(posted.status == (proxy == .envoy ? 403 : 200), "\(posted.lines)")
        }
    }
}
