package import Endpoints
package import RequestPath

/// The answer that a browser gets, which loads a page: a page instead of a problem document.
package func shown(_ response: EndpointResponse) -> LocalAnswer {
    LocalAnswer(response).page(
        requestID: RequestID(seed: 1, sequence: 1),
        isForm: false,
        hasHost: true,
        hasSignIn: true
    )
}
