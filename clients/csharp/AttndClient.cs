// Asks an attnd server for an image and a text. The libraries of .NET Framework 4.7.2, of .NET 6 and later, and of
// Mono 6; no packages.
//
//     mcs -r:System.Net.Http -r:System.Runtime.Serialization AttndClient.cs       (Mono)
//     mono AttndClient.exe wafer.png fail.log
//
// ATTND_URL      the server, http://127.0.0.1:8080 by default
// ATTND_KEY      the key, if the server has keys
// ATTND_CA_FILE  PEM or DER file of the authority that signed the server's certificate, with https
using System;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Net.Security;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Threading;

[DataContract]
class Answer
{
    [DataMember(Name = "label")] public string Label;
    [DataMember(Name = "score")] public double Score;
    [DataMember(Name = "decision")] public string Decision;
    [DataMember(Name = "reason")] public string Reason; // null if the decision is auto
    [DataMember(Name = "embedding")] public float[] Embedding; // of a model of vectors, in place of all above
}

// A refusal: attnd answers with application/problem+json (RFC 9457).
[DataContract]
class ProblemDetails
{
    [DataMember(Name = "title")] public string Title;
    [DataMember(Name = "detail")] public string Detail;
}

class ProblemException : Exception
{
    public readonly int Status;

    public ProblemException(int status, ProblemDetails problem)
        : base(status + " " + (problem.Title ?? "HTTP error") + ": " + problem.Detail)
    {
        Status = status;
    }
}

class AttndClient
{
    const int Tries = 5, WaitSecondsMax = 60;
    readonly string url;
    readonly HttpClient http;

    public AttndClient(string url, string key, string caFile)
    {
        this.url = url.TrimEnd('/');
        var handler = new HttpClientHandler();
        if (caFile != null)
        {
            var authority = new X509Certificate2(caFile);
            handler.ServerCertificateCustomValidationCallback =
                (request, certificate, chain, errors) => IsTrusted(authority, certificate, errors);
        }
        http = new HttpClient(handler) { Timeout = TimeSpan.FromSeconds(30) };
        if (!string.IsNullOrEmpty(key))
            http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", key);
    }

    // The name must fit, and the chain must end at the authority of the file. Mono 6.8 does not tell that a name
    // does not fit if its own store lacks the authority: there, add the authority to it (cert-sync ca.pem) and
    // leave ATTND_CA_FILE out. Mono also reads RSA certificates only here, not those of elliptic curves.
    static bool IsTrusted(X509Certificate2 authority, X509Certificate2 certificate, SslPolicyErrors errors)
    {
        if ((errors & ~SslPolicyErrors.RemoteCertificateChainErrors) != SslPolicyErrors.None)
            return false;
        var chain = new X509Chain();
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.VerificationFlags = X509VerificationFlags.AllowUnknownCertificateAuthority;
        chain.ChainPolicy.ExtraStore.Add(authority);
        if (!chain.Build(certificate))
            return false;
        var root = chain.ChainElements[chain.ChainElements.Count - 1].Certificate;
        return root.RawData.SequenceEqual(authority.RawData);
    }

    // Waits and asks again while the server is busy (429) or not ready (503).
    string Post(string path, byte[] body, string mediaType)
    {
        for (int left = Tries - 1; ; left--)
        {
            var content = new ByteArrayContent(body);
            content.Headers.ContentType = MediaTypeHeaderValue.Parse(mediaType);
            using (var reply = http.PostAsync(url + path, content).GetAwaiter().GetResult())
            {
                string text = reply.Content.ReadAsStringAsync().GetAwaiter().GetResult();
                int status = (int)reply.StatusCode;
                if (reply.IsSuccessStatusCode)
                    return text;
                if ((status != 429 && status != 503) || left == 0)
                    throw new ProblemException(status, ReadProblem(text));
                TimeSpan? told = reply.Headers.RetryAfter == null ? null : reply.Headers.RetryAfter.Delta;
                double wait = Math.Min((told ?? TimeSpan.FromSeconds(1)).TotalSeconds, WaitSecondsMax);
                Console.Error.WriteLine("the server is busy ({0}), again in {1} s", status, wait);
                Thread.Sleep(TimeSpan.FromSeconds(wait));
            }
        }
    }

    // The bytes of a file: a picture by its name, all else as a text in UTF-8. Of a string use
    // new StringContent(text, Encoding.UTF8, "text/plain"), and of JSON name "application/json":
    // StringContent alone says text/plain, and JSON that comes so is refused with 422.
    public Answer Predict(string path)
    {
        string ending = Path.GetExtension(path).ToLowerInvariant();
        string type = ending == ".png" ? "image/png"
            : ending == ".jpg" || ending == ".jpeg" ? "image/jpeg"
            : ending == ".bmp" ? "image/bmp"
            : "text/plain; charset=utf-8";
        return Read<Answer>(Post("/predict", File.ReadAllBytes(path), type));
    }

    static ProblemDetails ReadProblem(string text)
    {
        try
        {
            return Read<ProblemDetails>(text);
        }
        catch (SerializationException) // a proxy may answer in its own words
        {
            return new ProblemDetails { Title = "HTTP error", Detail = text };
        }
    }

    static T Read<T>(string json)
    {
        using (var stream = new MemoryStream(Encoding.UTF8.GetBytes(json)))
            return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(stream);
    }

    static int Main(string[] paths)
    {
        var client = new AttndClient(Environment.GetEnvironmentVariable("ATTND_URL") ?? "http://127.0.0.1:8080",
            Environment.GetEnvironmentVariable("ATTND_KEY"), Environment.GetEnvironmentVariable("ATTND_CA_FILE"));
        int status = 0;
        foreach (string path in paths)
        {
            try
            {
                Answer answer = client.Predict(path);
                Console.WriteLine(answer.Embedding != null
                    ? path + ": a vector of " + answer.Embedding.Length + " numbers"
                    : string.Format(CultureInfo.InvariantCulture, "{0}: {1} {2:F4} {3}", path, answer.Label,
                        answer.Score, answer.Decision));
            }
            catch (Exception failed) when (failed is ProblemException || failed is HttpRequestException ||
                                           failed is IOException || failed is OperationCanceledException)
            {
                Console.Error.WriteLine(path + ": " + failed.GetBaseException().Message);
                status = 1;
            }
        }
        return status;
    }
}
