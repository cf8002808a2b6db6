"""Texts that each rule must and must not find, in a notation that keeps whole tokens out of the repository.

`<A36>` is 36 characters of a cycle of letters and digits; U adds `-` and `_`, H is hex, L lower case and digits, W
letters, S has `/` and `+`, K capitals and digits; `<x*40>` is x forty times; `\\e` is an escape character.
"""

from __future__ import annotations

import re
from typing import Final

_CYCLES: Final = {
    "A": "Ab3Cd5Ef7Gh9Jk2Mn4Pq6Rs8Tu1Vw0Xy",
    "U": "Ab3-Cd5_Ef7Gh9Jk2Mn4-Pq6Rs8Tu1_Vw",
    "H": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "L": "ab3cd5ef7gh9jk2mn4pq6rs8tu1vw0xy",
    "W": "AbCdEfGhJkMnPqRsTuVwXy",
    "S": "Ab3/Cd5+Ef7Gh9Jk2/Mn4Pq6+Rs8Tu1Vw",
    "K": "Q7ZX5M2P4R6T3V7W",
}
_RUN: Final = re.compile(r"<([AUHLWSK]|[^<>]{1,2}\*)([0-9]+)>")


def expand(notation: str) -> str:
    """The text that the notation stands for."""

    def run(match: re.Match[str]) -> str:
        kind, length = match[1], int(match[2])
        cycle = kind[:-1] if kind.endswith("*") else _CYCLES[kind]
        return (cycle * (length // len(cycle) + 1))[:length]

    return _RUN.sub(run, notation).replace("\\e", "\x1b")


# rule id: (what it must find, what it must not find)
EXAMPLES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "openai-key": (
        (
            "sk-proj-<U156>",
            "key is sk-svcacct-<U120>.",
            "sk-None-<A48>",
            'echo "\\nsk-proj-<U60>',
        ),
        (
            "sk-proj-yourkey",
            "sk-project-management-tools-list",
            "task-proj-short",
        ),
    ),
    "anthropic-key": (
        (
            "sk-ant-api03-<U93>AA",
            "sk-ant-admin01-<U93>AA",
            "sk-ant-oat01-<U86>",
            "sk-ant-ort01-<U86>",
            "\\e[32msk-ant-sid01-<U80>",
        ),
        (
            "sk-ant-api03-xxx",
            "sk-anthropic-key-goes-here-please",
        ),
    ),
    "openrouter-key": (
        ("sk-or-v1-<H64>",),
        (
            "sk-or-v1-abc",
            "task-or-not-to-task-that-is-the-question",
        ),
    ),
    "sk-key": (
        (
            "sk-<A20>T3BlbkFJ<A20>",
            "Bearer sk-<H32>",
            "sk-<A22>",
        ),
        (
            "sk-folding-cube-spinner-wrapper",
            'class="sk-container-id-1 sk-toggleable"',
            "task-<A30>",
            "sk-<x*40>",
            "desk-<A30>",
        ),
    ),
    "openai-ephemeral": (
        (
            "ek_<H32>",
            "sess-<A40>",
        ),
        (
            "week_of_may",
            "sess-1234",
            "ek_<a*12>",
        ),
    ),
    "google-api-key": (
        (
            "AIza<U35>",
            "?key=AIzaSy<U33>&alt=sse",
            '"AIzaSy<A32>-"',
        ),
        (
            "AIzaaa",
            "xAIza-short",
        ),
    ),
    "google-auth-key": (
        ("AQ.Ab8RN6<U44>",),
        (
            "see the FAQ.About page",
            "AQ.Ab",
        ),
    ),
    "google-oauth": (
        (
            "ya29.a0<U160>",
            "ya29.c.<U200>",
        ),
        (
            "ya29.x",
            "maya29.5",
        ),
    ),
    "google-refresh": (
        ("1//0<U99>",),
        (
            "http://127.0.0.1//0",
            "11//0abc",
        ),
    ),
    "google-client-secret": (
        ("GOCSPX-<U28>",),
        ("GOCSPX-short",),
    ),
    "azure-ai-key": (
        ("<A52>JQQJ99BAACAAAAAAAAAACOGb3Xq7BAAC",),
        (
            "JQQJ99",
            "<x*40>JQQJ99yyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
    ),
    "bedrock-key": (
        (
            "ABSKQmVkcm9ja0FQSUtleS<A110>=",
            "bedrock-api-key-<A300>",
        ),
        (
            "ABSK",
            "bedrock-api-key-name",
        ),
    ),
    "groq-key": (
        ("gsk_<A52>",),
        (
            "gsk_test",
            "flagsk_mode_enable_everything",
        ),
    ),
    "huggingface-token": (
        (
            "hf_<W34>",
            "api_org_<W34>",
            "HF_TOKEN=hf_<A34>",
        ),
        (
            "hf_hub_download",
            "hf_transfer_enabled_for_all_users",
            "hf_model",
        ),
    ),
    "xai-key": (
        ("xai-<A80>",),
        (
            "xai-sdk-python",
            "xai-<a-*80>",
        ),
    ),
    "perplexity-key": (
        ("pplx-<A48>",),
        (
            "pplx-70b-online",
            "pplx-7b-chat",
        ),
    ),
    "together-key": (
        ("tgp_v1_<U43>",),
        ("tgp_v1_x",),
    ),
    "fireworks-key": (
        ("fw_<A24>",),
        (
            "fw_version_string_for_linux",
            "fw_<a*24>",
        ),
    ),
    "cerebras-key": (
        ("csk-<L48>",),
        (
            "csk-demo",
            "disk-<L48>",
        ),
    ),
    "nvidia-key": (
        ("nvapi-<U64>",),
        ("nvapi-key",),
    ),
    "replicate-token": (
        ("r8_<A37>",),
        (
            "r8_unorm",
            "var8_<A37>",
        ),
    ),
    "elevenlabs-key": (
        ("sk_<H48>",),
        (
            "task_<H48>",
            "sk_estimator",
        ),
    ),
    "voyage-key": (
        ("pa-<U42>z",),
        (
            "pa-rt",
            "final-<a*43>",
            "al-<a-*42>a",
        ),
    ),
    "langsmith-key": (
        (
            "lsv2_pt_<H32>_<H10>",
            "ls__<H32>",
        ),
        ("lsv2_pt_x",),
    ),
    "langfuse-key": (
        ("sk-lf-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",),
        ("pk-lf-demo",),
    ),
    "ai-tooling-key": (
        (
            "pcsk_Ab3Cd_<A63>",
            "wandb_v1_<A77>",
            "pylf_v1_us_<A43>",
            "tvly-dev-<A32>",
            "vck_<U56>",
            "jina_<A60>",
            "esecret_<L26>",
            "fc-<H32>",
        ),
        (
            "tvly-x",
            "jina_embeddings_v3",
            "wandb_version_check",
            "fc-1",
        ),
    ),
    "assigned-secret": (
        (
            "mistral_api_key=<A32>",
            'cohere.api_key: "<A40>"',
            "azure_openai_api_key = <H32>",
            "Together(api_key='<H64>')",
            "co-api-key => <A40>",
            "ai21 ApiKey: <A32>",
        ),
        (
            "api_key=os.environ.get",
            "api_key: your-api-key-goes-here",
            "access_token = response.access_token",
            "api_key=settings.OPENAI_API_KEY_NAME",
        ),
    ),
    "masked-key-echo": (
        (
            "Incorrect API key provided: sk-proj-<**20>Ab3C.",
            "hf_<**8>",
        ),
        (
            "**sk-bold**",
            "rk-*",
        ),
    ),
    "github-token": (
        (
            "ghp_<A36>",
            "ghs_<A36>",
            "github_pat_<A22>_<A59>",
            "token:\\nghp_<A36>",
        ),
        (
            "ghp_token",
            "github_pat_example",
        ),
    ),
    "gitlab-token": (
        (
            "glpat-<U20>",
            "glrt-<U26>",
        ),
        ("glpat-x",),
    ),
    "package-registry-token": (
        (
            "npm_<A36>",
            "pypi-AgEIcHlwaS5vcmc<U120>",
            "dckr_pat_<U27>",
        ),
        (
            "npm_config_registry",
            "pypi-age-of-packages",
        ),
    ),
    "aws-access-key-id": (
        (
            "AKIA<K16>",
            "Credential=ASIA<K16>/20260101/us-east-1/bedrock/aws4_request",
        ),
        (
            "AKIAIO",
            "SOUTHEASTASIAREGIONMAP01",
            "akiaq7zx5m2p4r6t3v7w",
        ),
    ),
    "aws-secret-key": (
        (
            "aws_secret_access_key = <S40>",
            '"SecretAccessKey": "<S40>"',
            "AWS_SECRET_ACCESS_KEY=<S33>Ab3Cd5E\\n",
        ),
        (
            "aws_secret_access_key = YOUR_KEY",
            "secret key: <a*40>",
        ),
    ),
    "aws-session-token": (
        ("IQoJb3JpZ2lu<S300>==",),
        ("IQoJb3JpZ2lu",),
    ),
    "aws-sigv4": (
        (
            "SignedHeaders=host;x-amz-date, Signature=<H64>",
            "&X-Amz-Signature=<H64>",
        ),
        ("signature=none",),
    ),
    "slack-token": (
        (
            "xoxb-123456789012-123456789012-<A24>",
            "xapp-1-A0<A40>",
            "xoxe.xoxp-1-<A120>",
        ),
        (
            "xoxb-",
            "foxapp-1",
        ),
    ),
    "slack-webhook": (
        ("https://hooks.slack.com/services/T00AB12CD/B00EF34GH/<A24>",),
        ("https://hooks.slack.com/services/",),
    ),
    "stripe-key": (
        (
            "sk_live_<A24>",
            "rk_test_<A99>",
            "whsec_<A32>",
        ),
        (
            "sk_test_key",
            "whsec_x",
        ),
    ),
    "misc-saas-token": (
        (
            "SG.<U22>.<U43>",
            "SK<H32>",
            "123456789:AA<U33>",
            "dapi<H32>",
            "shpat_<H32>",
            "hvs.<U90>",
            "sbp_<H40>",
            "AGE-SECRET-KEY-1<K58>",
        ),
        (
            "SG.x.y",
            "SKU-12345",
            "12:AAA",
        ),
    ),
    "jwt": (
        (
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJub2JvZHkifQ.<U43>",
            "eyJlbmMiOiJBMjU2R0NNIn0.<U60>.<U16>.<U80>.<U22>",
            "eyJhbGciOiJFUzI1NiJ9.<A2600>.<U86>",
        ),
        (
            "eyJhbGci.x.y",
            "eyJ only",
        ),
    ),
    "private-key": (
        (
            "<-*5>BEGIN RSA PRIVATE KEY<-*5>\\n<A64>\\n<A30>==\\n<-*5>END RSA PRIVATE KEY<-*5>",
            "<-*5>BEGIN OPENSSH< *1>PRIVATE KEY<-*5>\\n<A70>\\n<A70>",
            '"<-*5>BEGIN< *1>PRIVATE KEY<-*5>\\n<A64>\\n<-*5>END PRIVATE KEY<-*5>\\n"',
            "<-*5>BEGIN RSA PRIVATE KEY<-*5>\\nProc-Type: 4,ENCRYPTED\\n"
            "DEK-Info: AES-128-CBC,00\\n\\n<A64>\\n<-*5>END RSA PRIVATE KEY<-*5>",
        ),
        (
            "<-*5>BEGIN PUBLIC KEY<-*5>\\n<A64>\\n<-*5>END PUBLIC KEY<-*5>",
            "the private key goes here",
            '_BEGIN = b"<-*5>BEGIN OPENSSH< *1>PRIVATE KEY<-*5>"\\n_END = b"<-*5>END OPENSSH PRIVATE KEY<-*5>"',
        ),
    ),
    "url-password": (
        (
            "postgres://app:hunter2hunter2@db.internal:5432/x",
            "https://ci:<A20>@git.example/x.git",
            "redis://:<A12>@cache:6379/0",
            "mongodb+srv://u:p%40ss@c0.example/db",
        ),
        (
            "https://example.com:8080/path@2",
            "https://host/a:b@c",
            "http://[::1]:8080/",
        ),
    ),
    "url-credential-param": (
        (
            "https://h/v1beta/models/m:generateContent?key=<A39>",
            "...?sv=2024-11-04&sig=aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3aB%2F3&se=2026",
            "&X-Amz-Credential=AKIA<K16>%2F2026",
        ),
        (
            "?key=abc",
            "?keyword=python+regex+tutorial",
            "&page_token=abcdef12345",
        ),
    ),
    "connection-string": (
        (
            "AccountName=x;AccountKey=<A86>==;EndpointSuffix=core",
            "Server=db;User Id=sa;Password=Tr0ub4dor-x;Encrypt=true",
        ),
        (
            "password = None",
            "Password=;",
        ),
    ),
    "auth-header-text": (
        (
            "curl -H 'Authorization: Bearer <A40>'",
            '"authorization": "Basic dXNlcjpwYXNzd29yZA=="',
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIA<K16>/20260102/us-east-1/bedrock/aws4_request, Signature=ab",
            "Authorization: <H32>",
        ),
        (
            "Authorization: Bearer $OPENAI_API_KEY",
            "authorization: {token}",
            "the Authorization header",
            "Authorization: Bearer <key>",
        ),
    ),
    "bearer-text": (
        ("Bearer <A40>",),
        (
            "Bearer of bad news for everyone",
            "bearer authentication-required-for-this",
        ),
    ),
    "api-key-header-text": (
        (
            "-H 'x-api-key: <A30>'",
            '"api-key": "<H32>"',
        ),
        (
            "x-api-key: $ANTHROPIC_API_KEY",
            "api-key: <your key>",
        ),
    ),
    "env-assignment": (
        (
            "export FOO_API_KEY=<A20>",
            'DB_PASSWORD="corr3ct-horse-battery"',
            "MY_TOKEN: <H40>",
            '"SENTRY_DSN": "https://<H32>@o1.ingest.example/2"',
        ),
        (
            "MAX_TOKENS=4096",
            "API_KEY=${OPENAI_API_KEY}",
            "SECRET_KEY = get()",
            "GITHUB_TOKEN: process.env",
            'API_KEY = os.environ["X"]',
        ),
    ),
    "json-secret-text": (
        (
            '{"api_key": "<A20>"}',
            '{\\"password\\": \\"hunter22\\"}',
            "'client_secret': '<A24>'",
        ),
        (
            '{"password": ""}',
            '{"token": "hello"}',
            '{"api_key": "${KEY}"}',
            '{"max_tokens": 100}',
        ),
    ),
    "email": (
        ("jo.doe+x@mail.example.org",),
        (
            "a@b",
            "git@github",
            "@user",
        ),
    ),
    "home-path": (
        (
            "/home/jdoe/proj",
            "/Users/jane.doe/x",
            "C:\\Users\\jdoe\\x",
            "C:\\\\Users\\\\jdoe\\\\x",
        ),
        (
            "/home/",
            "/homebrew/x",
        ),
    ),
    "ipv4-private": (
        (
            "10.1.2.3",
            "192.168.0.7",
            "172.20.1.1",
        ),
        (
            "8.8.8.8",
            "1.10.2",
            "172.15.0.1",
        ),
    ),
    "gcp-project-path": (
        ("/v1/projects/my-proj-123/locations/us-central1/x",),
        ("/projects/ab/",),
    ),
    "aws-arn-account": (
        ("arn:aws:bedrock:us-east-1:012345678901:inference-profile/x",),
        ("arn:aws:s3:::bucket",),
    ),
    "azure-resource-host": (
        ("https://my-res.openai.azure.com/openai",),
        ("openai.azure.com",),
    ),
    "openai-org": (
        (
            "org-<A24>",
            "user-<A24>",
            "proj_<A24>",
        ),
        (
            "org-mode",
            "user-agent",
            "user-centered",
        ),
    ),
}
